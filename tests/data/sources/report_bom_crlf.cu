#include <iostream>
#include "cuda_runtime.h"
#include "device_launch_parameters.h"

using namespace std;

#define WIDE 32

__global__ void kBase(float *mat, float *res, const int N, const int K) {
    unsigned int k = threadIdx.x + blockIdx.x * blockDim.x;
    unsigned int n = threadIdx.y + blockIdx.y * blockDim.y;
    res[n + k * N] = mat[k + n * K];
}

__global__ void kShared_Bad(float *mat, float *res, const int N, const int K) {
    __shared__ float cell[WIDE][WIDE];
    unsigned int k = threadIdx.x + blockIdx.x * blockDim.x;
    unsigned int n = threadIdx.y + blockIdx.y * blockDim.y;
    cell[threadIdx.y][threadIdx.x] = mat[k + n * K];
    __syncthreads();
    k = threadIdx.x + blockIdx.y * blockDim.x;
    n = threadIdx.y + blockIdx.x * blockDim.y;
    res[k + n * N] = cell[threadIdx.x][threadIdx.y];
}

__global__ void kShared(float *mat, float *res, const int N, const int K) {
    __shared__ float cell[WIDE][WIDE + 1];
    unsigned int k = threadIdx.x + blockIdx.x * blockDim.x;
    unsigned int n = threadIdx.y + blockIdx.y * blockDim.y;
    cell[threadIdx.y][threadIdx.x] = mat[k + n * K];
    __syncthreads();
    k = threadIdx.x + blockIdx.y * blockDim.x;
    n = threadIdx.y + blockIdx.x * blockDim.y;
    res[k + n * N] = cell[threadIdx.x][threadIdx.y];
}

int main() {
    const int num = 1 << 12;
    int N = 8 * num, K = 8 * num, perBlock = 128;
    float *a, *b;
    cudaMalloc((void **) &a, N * K * sizeof(float));
    cudaMalloc((void **) &b, N * K * sizeof(float));
    kBase <<< dim3(K / perBlock, N /
perBlock),
              dim3(perBlock,
perBlock) >>>
              (a, b, N, K);
    kShared_Bad << < dim3(K / perBlock, N / perBlock), dim3(perBlock, perBlock) >> > (a, b, N, K);
    kShared <<< dim3(K / perBlock, N / perBlock), dim3(perBlock, perBlock) >>> (a, b, N, K);
    cout << "готово" << endl;
    return 0;
}
