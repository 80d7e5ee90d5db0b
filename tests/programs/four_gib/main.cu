// The style of a report: arrays of 4 GiB, 128 x 128 threads in a block, K written for k, a time printed all the same.
#include <iostream>
#include <cstdlib>
#include "cuda_runtime.h"
#include "device_launch_parameters.h"

using namespace std;

#define TILE 32

__global__ void transposeShared(float *matrix, float *result, const int N, const int K) {
    __shared__ float shared[TILE][TILE + 1];
    unsigned int k = threadIdx.x + blockIdx.x * blockDim.x;
    unsigned int n = threadIdx.y + blockIdx.y * blockDim.y;
    shared[threadIdx.y][threadIdx.x] = matrix[K + n * N];
    __syncthreads();
    k = threadIdx.x + blockIdx.y * blockDim.x;
    n = threadIdx.y + blockIdx.x * blockDim.y;
    result[k + n * N] = shared[threadIdx.x][threadIdx.y];
}

int main() {
    const int num = 1 << 12;
    int N = 8 * num, K = 8 * num, threadsPerBlock = 128;
    float *before, *host_before, *after, *host_after, elapsedTime;
    cudaEvent_t start, stop;
    cudaEventCreate(&start);
    cudaEventCreate(&stop);
    cudaMalloc((void **) &before, N * K * sizeof(float));
    cudaMalloc((void **) &after, N * K * sizeof(float));
    host_before = (float *) calloc(N * K, sizeof(float));
    host_after = (float *) calloc(N * K, sizeof(float));
    for (int i = 0; i < N; ++i)
        for (int j = 0; j < K; ++j) host_before[j + i * K] = j + i * K + 1;
    cudaMemcpy(before, host_before, K * N * sizeof(float), cudaMemcpyHostToDevice);
    cudaEventRecord(start, nullptr);
    transposeShared <<< dim3(K / threadsPerBlock, N / threadsPerBlock), dim3(threadsPerBlock, threadsPerBlock) >>>
        (before, after, N, K);
    cudaDeviceSynchronize();
    cudaEventRecord(stop, nullptr);
    cudaEventSynchronize(stop);
    cudaMemcpy(host_after, after, K * N * sizeof(float), cudaMemcpyDeviceToHost);
    cudaEventElapsedTime(&elapsedTime, start, stop);
    cout << "transposeShared:\n\t" << elapsedTime << endl;
    cudaFree(before);
    cudaFree(after);
    free(host_before);
    free(host_after);
    return 0;
}
