// What compilers of students take beside the standard: a main without a value, arrays of variable length, short names.
#include <stdio.h>

__global__ void fill(uint *p, uint n) {
    if (threadIdx.x < n) p[threadIdx.x] = threadIdx.x;
}

void main(int argc, char **argv) {
    int n = 3;
    ssize_t size = n * sizeof(uint);
    uint here[n], *there;
    cudaMalloc(&there, size);
    fill<<<1, 32>>>(there, n);
    cudaMemcpy(here, there, size, cudaMemcpyDeviceToHost);
    cudaFree(there);
    printf("%u\n", here[2]);
    if (argc == 1) return;
    printf("never\n");
}
