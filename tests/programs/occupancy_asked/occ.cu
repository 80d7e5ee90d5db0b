#include <cstdio>
#include <algorithm>
__global__ void square(int *a, int n) { int i = threadIdx.x + blockIdx.x * blockDim.x; if (i < n) a[i] *= a[i]; }
__global__ void heavy(float *a) { __shared__ float s[8192]; s[threadIdx.x] = a[threadIdx.x]; __syncthreads(); a[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x]; }
__global__ void __launch_bounds__(128, 2) bounded(int *a) { *a = 1; }
static int blocksFor(const void *, int n, int b) { return (n + b - 1) / b; }
int main() {
    int n = 1000, minGrid = 0, block = 0, active = 0;
    cudaOccupancyMaxPotentialBlockSize(&minGrid, &block, square, 0, n);
    printf("block %d\n", block);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&active, square, 256, 0);
    cudaDeviceProp p;
    cudaGetDeviceProperties(&p, 0);
    printf("%d blocks of 256, %d %%\n", active, 100 * active * 256 / p.maxThreadsPerMultiProcessor);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&active, heavy, 64, 0);
    printf("%d heavy blocks\n", active);
    cudaFuncAttributes attributes;
    cudaFuncGetAttributes(&attributes, heavy);
    printf("%zu bytes static, up to %d threads\n", attributes.sharedSizeBytes, attributes.maxThreadsPerBlock);
    cudaOccupancyMaxPotentialBlockSize(&minGrid, &block, bounded);
    cudaFuncGetAttributes(&attributes, bounded);
    printf("bounded: block %d, up to %d threads\n", block, attributes.maxThreadsPerBlock);
    const char *name;
    cudaFuncGetName(&name, square);
    printf("%s\n", name);
    cudaOccupancyMaxPotentialBlockSize(&minGrid, &block, square, 0, n);
    cudaFuncSetCacheConfig(heavy, cudaFuncCachePreferShared);
    int *d, h[1000];
    std::fill(h, h + n, 3);
    cudaMalloc(&d, sizeof h);
    cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
    square<<<blocksFor((void *)square, n, block), block>>>(d, n);
    cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
    printf("%d\n", std::count(h, h + n, 9) == n);
    cudaFree(d);
}
