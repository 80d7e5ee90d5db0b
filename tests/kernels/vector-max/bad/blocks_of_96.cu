// A tree that halves, in blocks of 96 threads.
#include <cmath>

__global__ void largest(const float *in, float *out, int n) {
    __shared__ float part[96];
    float mine = -INFINITY;
    for (int i = blockIdx.x * 96 + threadIdx.x; i < n; i += gridDim.x * 96) {
        mine = fmaxf(mine, in[i]);
    }
    part[threadIdx.x] = mine;
    __syncthreads();
    for (int k = 48; k > 0; k /= 2) {
        if (threadIdx.x < k) part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + k]);
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

void solve(const float *in, float *out, int n) {
    int blocks = min((n + 255) / 256, 8);
    float *parts;
    cudaMalloc(&parts, blocks * sizeof(float));
    largest<<<blocks, 96>>>(in, parts, n);
    largest<<<1, 96>>>(parts, out, blocks);
    cudaFree(parts);
}
