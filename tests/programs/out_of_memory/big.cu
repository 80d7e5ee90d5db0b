#include <stdio.h>
__global__ void touch(char *p) { p[0] = 1; }
int main() {
    char *p = NULL;
    size_t want = (size_t)1 << 40;
    cudaError_t e = cudaMalloc((void **)&p, want);
    printf("%s\n", cudaGetErrorString(e));
    if (e != cudaSuccess) e = cudaMalloc((void **)&p, 1 << 10);
    touch<<<1, 1>>>(p);
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    cudaFree(p);
    return 0;
}
