// A sum a thread, 16 bytes a load, then by shuffles within a block, and an atomic addition for each of at most 1024 blocks.
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

__global__ void sum(const float *__restrict__ in, float *out, int n) {
    const int thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    float mine = 0.0f;
    const int quads = (unsigned long long)in % 16 == 0 ? n / 4 : 0;
    for (int i = thread; i < quads; i += threads) {
        const float4 four = reinterpret_cast<const float4 *>(in)[i];
        mine += (four.x + four.y) + (four.z + four.w);
    }
    for (int i = 4 * quads + thread; i < n; i += threads) mine += in[i];
    mine = sum_of_block(mine);
    if (threadIdx.x == 0) atomicAdd(out, mine);
}

void solve(const float *in, float *out, int n) {
    sum<<<min((n + 1023) / 1024, 1024), 256>>>(in, out, n);
}
