// Shuffles within a warp, then by the first warp for its block.
#include <cmath>

__global__ void largest(const float *in, float *out, int n) {
    __shared__ float part[8];
    float mine = -INFINITY;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
        mine = fmaxf(mine, in[i]);
    }
    for (int k = 16; k > 0; k /= 2) mine = fmaxf(mine, __shfl_xor_sync(0xffffffff, mine, k));
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = mine;
    __syncthreads();
    if (threadIdx.x < 32) {
        mine = threadIdx.x < 8 ? part[threadIdx.x] : -INFINITY;
        for (int k = 4; k > 0; k /= 2) mine = fmaxf(mine, __shfl_down_sync(0xffffffff, mine, k));
        if (threadIdx.x == 0) out[blockIdx.x] = mine;
    }
}

void solve(const float *in, float *out, int n) {
    int blocks = min((n + 255) / 256, 8);
    float *parts;
    cudaMalloc(&parts, blocks * sizeof(float));
    largest<<<blocks, 256>>>(in, parts, n);
    largest<<<1, 256>>>(parts, out, blocks);
    cudaFree(parts);
}
