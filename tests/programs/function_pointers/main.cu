// Launches through function pointers, cudaLaunchKernel, a default argument, attributes and occupancy.
#include <stdio.h>

__global__ void plus(int* x, int by = 1) { x[threadIdx.x] += by; }
__global__ void minus(int* x, int by) { x[threadIdx.x] -= by; }
__global__ void big(int* x) {
    extern __shared__ int tile[];
    tile[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = tile[threadIdx.x] * 3;
}

typedef void (*Kernel)(int*, int);

int main() {
    int *d, h[32];
    cudaMalloc(&d, sizeof h);
    cudaMemset(d, 0, sizeof h);
    Kernel kernels[] = {plus, minus};
    for (int i = 0; i < 2; i++) kernels[i] <<< 1, 32 >>> (d, 10 * (i + 1));
    plus<<<1, 32>>>(d);
    int by = 20;
    void* arguments[] = {&d, &by};
    cudaLaunchKernel((const void*)plus, dim3(1), dim3(32), arguments, 0, 0);
    cudaFuncSetAttribute(big, cudaFuncAttributeMaxDynamicSharedMemorySize, 60 * 1024);
    big<<<1, 32, 60 * 1024>>>(d);
    int blocks = 0, grid = 0, block = 0;
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, plus, 256, 0);
    cudaOccupancyMaxPotentialBlockSize(&grid, &block, plus, 0, 0);
    cudaDeviceProp p;
    cudaGetDeviceProperties(&p, 0);
    cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
    printf("%d %d %d %d %s %d.%d %d\n", h[31], blocks, grid, block, p.name, p.major, p.minor, p.maxThreadsPerBlock);
    cudaFree(d);
    return cudaGetLastError();
}
