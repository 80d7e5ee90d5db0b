// As many passes as it takes, each of which leaves one element of 1024.
#include <cmath>

__global__ void largest(const float *in, float *out, int n) {
    __shared__ float part[256];
    float mine = -INFINITY;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
        mine = fmaxf(mine, in[i]);
    }
    part[threadIdx.x] = mine;
    __syncthreads();
    for (int k = 128; k > 0; k /= 2) {
        if (threadIdx.x < k) part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + k]);
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

void solve(const float *in, float *out, int n) {
    int blocks = (n + 1023) / 1024;
    if (blocks == 1) {
        largest<<<1, 256>>>(in, out, n);
        return;
    }
    float *parts;
    cudaMalloc(&parts, blocks * sizeof(float));
    largest<<<blocks, 256>>>(in, parts, n);
    solve(parts, out, blocks);
    cudaFree(parts);
}
