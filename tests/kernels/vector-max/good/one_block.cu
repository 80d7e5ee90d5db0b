// One block of 1024 threads goes through all elements.
#include <cmath>

__global__ void largest(const float *in, float *out, int n) {
    __shared__ float part[1024];
    float mine = -INFINITY;
    for (int i = threadIdx.x; i < n; i += 1024) {
        mine = fmaxf(mine, in[i]);
    }
    part[threadIdx.x] = mine;
    __syncthreads();
    for (int k = 512; k > 0; k /= 2) {
        if (threadIdx.x < k) part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + k]);
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

void solve(const float *in, float *out, int n) {
    largest<<<1, 1024>>>(in, out, n);
}
