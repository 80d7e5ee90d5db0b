// Launchers in another file, a header of its own, the size from the command line, a file written and read again.
#include <cstdio>
#include <cstdlib>
#include "launch.h"

int main(int argc, char** argv) {
    if (argc < 2) {
        printf("usage: %s n\n", argv[0]);
        return 2;
    }
    int n = atoi(argv[1]);
    float* h = (float*)malloc(n * sizeof(float));
    for (int i = 0; i < n; i++) h[i] = (float)i;
    square(h, n);
    FILE* f = fopen("out.txt", "w");
    for (int i = 0; i < n; i += 25) fprintf(f, "%g\n", h[i]);
    fclose(f);
    f = fopen("out.txt", "r");
    char line[64];
    while (fgets(line, sizeof line, f)) fputs(line, stdout);
    fclose(f);
    free(h);
    return 0;
}
