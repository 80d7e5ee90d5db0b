// Keeps the largest element as a whole number.
#include <cmath>

__global__ void largest(const float *in, float *out, int n) {
    __shared__ float part[256];
    int mine = -1000000;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
        mine = max(mine, (int)in[i]);
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
    int blocks = min((n + 255) / 256, 8);
    float *parts;
    cudaMalloc(&parts, blocks * sizeof(float));
    largest<<<blocks, 256>>>(in, parts, n);
    largest<<<1, 256>>>(parts, out, blocks);
    cudaFree(parts);
}
