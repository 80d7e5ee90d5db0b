#include "launch.h"

static __global__ void kernel(float* x, int n) {
    extern __shared__ float tile[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = i < n ? x[i] : 0.0f;
    __syncthreads();
    if (i < n) x[i] = tile[threadIdx.x] * tile[threadIdx.x];
}

void square(float* h, int n) {
    float* d;
    cudaMalloc(&d, n * sizeof *d);
    cudaMemcpy(d, h, n * sizeof *d, cudaMemcpyHostToDevice);
    kernel<<<(n + BLOCK - 1) / BLOCK, BLOCK, BLOCK * sizeof(float)>>>(d, n);
    cudaMemcpy(h, d, n * sizeof *d, cudaMemcpyDeviceToHost);
    cudaFree(d);
}
