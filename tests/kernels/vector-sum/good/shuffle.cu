// Within warps by shuffles, then across them.
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

__global__ void sum(const float *in, float *out, int n) {
    float mine = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) mine += in[i];
    mine = sum_of_block(mine);
    if (threadIdx.x == 0) atomicAdd(out, mine);
}

void solve(const float *in, float *out, int n) {
    sum<<<min((n + 255) / 256, 8), 256>>>(in, out, n);
}
