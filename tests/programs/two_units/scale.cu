#include "kernels.h"
static __global__ void kernel(int *a, int n, int v) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] *= v; }
void scale_on_gpu(int *host, int n, int by) { int *d; cudaMalloc(&d, n * 4); cudaMemcpy(d, host, n * 4, cudaMemcpyHostToDevice); kernel<<<(n + 31) / 32, 32>>>(d, n, by); cudaMemcpy(host, d, n * 4, cudaMemcpyDeviceToHost); cudaFree(d); }
