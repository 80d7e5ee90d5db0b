// Counts of values 0 to 63.

//// global_atomics
extern "C" __global__ void k(const int* in, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&out[in[i]], 1);
}

//// privatised
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int bins[64];
    for (int b = threadIdx.x; b < 64; b += blockDim.x) bins[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) atomicAdd(&bins[in[i]], 1);
    __syncthreads();
    for (int b = threadIdx.x; b < 64; b += blockDim.x) atomicAdd(&out[b], bins[b]);
}

//// one_copy_a_warp
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int bins[4][64];
    for (int b = threadIdx.x; b < 4 * 64; b += blockDim.x) bins[b / 64][b % 64] = 0;
    __syncthreads();
    int* own = bins[threadIdx.x / 32];
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) atomicAdd(own + in[i], 1);
    __syncthreads();
    if (threadIdx.x < 64)
        atomicAdd(&out[threadIdx.x],
                  bins[0][threadIdx.x] + bins[1][threadIdx.x] + bins[2][threadIdx.x] + bins[3][threadIdx.x]);
}

//// aggregated_by_match
extern "C" __global__ void k(const int* in, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int v = in[i];
        unsigned peers = __match_any_sync(__activemask(), v);
        if ((threadIdx.x & 31) == __ffs(peers) - 1) atomicAdd(&out[v], __popc(peers));
    }
}

//// bytes_of_each_thread
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ unsigned char own[64 * 128];
    for (int b = 0; b < 64; ++b) own[b * 128 + threadIdx.x] = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) ++own[in[i] * 128 + threadIdx.x];
    __syncthreads();
    if (threadIdx.x < 64) {
        int sum = 0;
        for (int t = 0; t < 128; ++t) sum += own[threadIdx.x * 128 + t];
        atomicAdd(&out[threadIdx.x], sum);
    }
}
