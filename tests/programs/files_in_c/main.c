#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/times.h>
#include <unistd.h>
#include "twice.h"

int squared(x)
int x;
{
    return x * x;
}

int main(int argc, char **argv) {
    int n = 8, new = 3, *p = malloc(n * sizeof *p);
    struct rusage used;
    struct tms clocks;
    struct point origin = {.y = 2};
    for (int i = 0; i < n; i++) p[i] = squared(rand() % 100 + new);
    twice(p, n);
    for (int i = 0; i < n; i++) printf("%d ", p[i]);
    printf("%d %d %d %d\n", origin.x, origin.y, getrusage(RUSAGE_SELF, &used), times(&clocks) < 0);
    free(p);
    return 0;
}
