#include "kernels.h"
#include <stdio.h>
int main() {
    int h[40];
    fill_on_gpu(h, 40, 5);
    scale_on_gpu(h, 40, 3);
    printf("%d %d\n", h[0], h[39]);
    return 0;
}
