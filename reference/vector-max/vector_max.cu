// The largest of a thread's elements, then by shuffles within a block; the block that is ready last looks through what all
// have left, so that there is one launch.
#include <cmath>

#define THREADS 256
#define BLOCKS 512

__device__ unsigned ready;
__device__ float parts[BLOCKS];

__device__ float max_of_warp(float value) {
    for (int d = 16; d > 0; d /= 2) value = fmaxf(value, __shfl_down_sync(0xffffffff, value, d));
    return value;
}

__device__ float max_of_block(float value) {
    __shared__ float of_warp[THREADS / 32];
    value = max_of_warp(value);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    value = threadIdx.x < THREADS / 32 ? of_warp[threadIdx.x] : -INFINITY;
    __syncthreads();
    return threadIdx.x < 32 ? max_of_warp(value) : value;
}

__global__ void largest(const float *__restrict__ in, float *out, int n) {
    __shared__ bool is_last;
    const int thread = blockIdx.x * THREADS + threadIdx.x, threads = gridDim.x * THREADS;
    float mine = -INFINITY;
    const int quads = (unsigned long long)in % 16 == 0 ? n / 4 : 0;
    for (int i = thread; i < quads; i += threads) {
        const float4 four = reinterpret_cast<const float4 *>(in)[i];
        mine = fmaxf(mine, fmaxf(fmaxf(four.x, four.y), fmaxf(four.z, four.w)));
    }
    for (int i = 4 * quads + thread; i < n; i += threads) mine = fmaxf(mine, in[i]);

    mine = max_of_block(mine);
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = mine;
        __threadfence();
        is_last = atomicInc(&ready, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!is_last) return;
    __threadfence();
    mine = -INFINITY;
    for (int b = threadIdx.x; b < gridDim.x; b += THREADS) mine = fmaxf(mine, parts[b]);
    mine = max_of_block(mine);
    if (threadIdx.x == 0) *out = mine;
}

void solve(const float *in, float *out, int n) {
    largest<<<min((n + 4 * THREADS - 1) / (4 * THREADS), BLOCKS), THREADS>>>(in, out, n);
}
