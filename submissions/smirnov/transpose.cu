#include <cstdio>
#include <cstdlib>
#include "cuda_runtime.h"
#include "device_launch_parameters.h"

using namespace std;

#define SIDE 32

__global__ void gPlain(float *a, float *res, const int H, const int W) {
    unsigned int w = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int h = blockIdx.y * blockDim.y + threadIdx.y;
    res[h + w * H] = a[w + h * W];
}

__global__ void gShared(float *a, float *res, const int H, const int W) {
    __shared__ float part[SIDE][SIDE];
    unsigned int w = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int h = blockIdx.y * blockDim.y + threadIdx.y;
    part[threadIdx.y][threadIdx.x] = a[W + h * W];
    __syncthreads();
    w = blockIdx.y * blockDim.y + threadIdx.x;
    h = blockIdx.x * blockDim.x + threadIdx.y;
    res[w + h * H] = part[threadIdx.x][threadIdx.y];
}

__global__ void gSharedNoConflict(float *a, float *res, const int H, const int W) {
    __shared__ float part[SIDE][SIDE + 1];
    unsigned int w = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int h = blockIdx.y * blockDim.y + threadIdx.y;
    part[threadIdx.y][threadIdx.x] = a[W + h * W];
    __syncthreads();
    w = blockIdx.y * blockDim.y + threadIdx.x;
    h = blockIdx.x * blockDim.x + threadIdx.y;
    res[w + h * H] = part[threadIdx.x][threadIdx.y];
}

int main() {
    const int H = 1 << 13, W = 1 << 13;
    const int threads = 128;
    float elapsed;
    cudaEvent_t t0, t1;
    cudaEventCreate(&t0);
    cudaEventCreate(&t1);

    float *a, *res;
    float *host = (float *) malloc(sizeof(float) * H * W);
    for (int i = 0; i < H * W; ++i) host[i] = i;
    cudaMalloc((void **) &a, sizeof(float) * H * W);
    cudaMalloc((void **) &res, sizeof(float) * H * W);
    cudaMemcpy(a, host, sizeof(float) * H * W, cudaMemcpyHostToDevice);

    dim3 grid(W / threads, H / threads);
    dim3 block(threads, threads);

    cudaEventRecord(t0);
    gPlain <<< grid, block >>> (a, res, H, W);
    cudaEventRecord(t1);
    cudaEventSynchronize(t1);
    cudaEventElapsedTime(&elapsed, t0, t1);
    printf("plain: %f ms\n", elapsed);

    cudaEventRecord(t0);
    gShared <<< grid, block >>> (a, res, H, W);
    cudaEventRecord(t1);
    cudaEventSynchronize(t1);
    cudaEventElapsedTime(&elapsed, t0, t1);
    printf("shared: %f ms\n", elapsed);

    cudaEventRecord(t0);
    gSharedNoConflict <<< grid, block >>> (a, res, H, W);
    cudaEventRecord(t1);
    cudaEventSynchronize(t1);
    cudaEventElapsedTime(&elapsed, t0, t1);
    printf("no conflicts: %f ms\n", elapsed);

    cudaMemcpy(host, res, sizeof(float) * H * W, cudaMemcpyDeviceToHost);
    cudaFree(a);
    cudaFree(res);
    free(host);
    return 0;
}
