#include "kernels.h"
static __global__ void kernel(int *a, int n, int v) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] = v + i; }
void fill_on_gpu(int *host, int n, int value) { int *d; cudaMalloc(&d, n * 4); kernel<<<(n + 15) / 16, 16>>>(d, n, value); cudaMemcpy(host, d, n * 4, cudaMemcpyDeviceToHost); cudaFree(d); }
