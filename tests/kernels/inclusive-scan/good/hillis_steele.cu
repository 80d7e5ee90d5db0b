// Hillis and Steele between two halves of shared memory; the sums of the blocks by the same function again.
#include <cuda_runtime.h>

#define BLOCK 256

__global__ void scanBlocks(const float *input, float *output, float *sums, int n)
{
    __shared__ float buffer[2][BLOCK];
    int i = blockIdx.x * BLOCK + threadIdx.x;
    int from = 0;
    buffer[from][threadIdx.x] = i < n ? input[i] : 0.0f;
    __syncthreads();
    for (int offset = 1; offset < BLOCK; offset <<= 1) {
        int to = 1 - from;
        float x = buffer[from][threadIdx.x];
        if (threadIdx.x >= offset)
            x += buffer[from][threadIdx.x - offset];
        buffer[to][threadIdx.x] = x;
        from = to;
        __syncthreads();
    }
    if (i < n)
        output[i] = buffer[from][threadIdx.x];
    if (sums && threadIdx.x == BLOCK - 1)
        sums[blockIdx.x] = buffer[from][BLOCK - 1];
}

__global__ void addSums(float *output, const float *sums, int n)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (blockIdx.x > 0 && i < n)
        output[i] += sums[blockIdx.x - 1];
}

extern "C" void solve(const float *input, float *output, int N)
{
    int blocks = (N + BLOCK - 1) / BLOCK;
    if (blocks == 1) {
        scanBlocks<<<1, BLOCK>>>(input, output, nullptr, N);
        return;
    }
    float *sums, *scanned;
    cudaMalloc(&sums, blocks * sizeof(float));
    cudaMalloc(&scanned, blocks * sizeof(float));
    scanBlocks<<<blocks, BLOCK>>>(input, output, sums, N);
    solve(sums, scanned, blocks);
    addSums<<<blocks, BLOCK>>>(output, scanned, N);
    cudaDeviceSynchronize();
    cudaFree(sums);
    cudaFree(scanned);
}
