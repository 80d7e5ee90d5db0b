// Sums of an array, in the seven steps of the classic talk and after it.

//// interleaved_with_modulo
extern "C" __global__ void k(const int* in, int* out, int n) {
    extern __shared__ int s[];
    unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
        if (t % (2 * stride) == 0) s[t] += s[t + stride];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

//// interleaved_with_index
extern "C" __global__ void k(const int* in, int* out, int n) {
    extern __shared__ int s[];
    unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
        unsigned index = 2 * stride * t;
        if (index < blockDim.x) s[index] += s[index + stride];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

//// sequential_addressing
extern "C" __global__ void k(const int* in, int* out, int n) {
    extern __shared__ int s[];
    unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (unsigned stride = blockDim.x / 2; stride > 0; stride >>= 1) {
        if (t < stride) s[t] += s[t + stride];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

//// first_add_during_load
extern "C" __global__ void k(const int* in, int* out, int n) {
    extern __shared__ int s[];
    unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x * 2 + t;
    int sum = i < n ? in[i] : 0;
    if (i + blockDim.x < n) sum += in[i + blockDim.x];
    s[t] = sum;
    __syncthreads();
    for (unsigned stride = blockDim.x / 2; stride > 0; stride >>= 1) {
        if (t < stride) s[t] = sum = sum + s[t + stride];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = sum;
}

//// last_warp_unrolled_with_syncwarp
__device__ void last_warp(volatile int* s, unsigned t) {
    int v = s[t];
    v += s[t + 32]; __syncwarp(); /* unused */ s[t] = v; __syncwarp();
    v += s[t + 16]; __syncwarp(); s[t] = v; __syncwarp();
    v += s[t + 8]; __syncwarp(); s[t] = v; __syncwarp();
    v += s[t + 4]; __syncwarp(); s[t] = v; __syncwarp();
    v += s[t + 2]; __syncwarp(); s[t] = v; __syncwarp();
    v += s[t + 1]; __syncwarp(); s[t] = v;
}
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int s[128];
    unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t] = i < n ? in[i] : 0;
    __syncthreads();
    if (t < 64) s[t] += s[t + 64];
    __syncthreads();
    if (t < 32) last_warp(s, t);
    if (t == 0) out[blockIdx.x] = s[0];
}

//// completely_unrolled_template
template <unsigned blockSize>
__device__ void reduce(const int* in, int* out, int n) {
    __shared__ int s[blockSize];
    unsigned t = threadIdx.x, i = blockIdx.x * blockSize + t;
    s[t] = i < n ? in[i] : 0;
    __syncthreads();
    if (blockSize >= 512) { if (t < 256) s[t] += s[t + 256]; __syncthreads(); /* unused */ }
    if (blockSize >= 256) { if (t < 128) s[t] += s[t + 128]; __syncthreads(); /* unused */ }
    if (blockSize >= 128) { if (t < 64) s[t] += s[t + 64]; __syncthreads(); }
    if (t < 32) {
        int v = s[t] + s[t + 32];
        for (int offset = 16; offset > 0; offset /= 2) v += __shfl_down_sync(0xffffffff, v, offset);
        if (t == 0) out[blockIdx.x] = v;
    }
}
extern "C" __global__ void k(const int* in, int* out, int n) { reduce<128>(in, out, n); }

//// grid_stride_then_tree
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int s[128];
    int sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) sum += in[i];
    s[threadIdx.x] = sum;
    __syncthreads();
    for (int stride = 64; stride > 0; stride /= 2) {
        if (threadIdx.x < stride) s[threadIdx.x] += s[threadIdx.x + stride];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}

//// warps_then_block
__inline__ __device__ int warp_sum(int v) {
    for (int offset = warpSize / 2; offset > 0; offset /= 2) v += __shfl_down_sync(0xffffffff, v, offset);
    return v;
}
extern "C" __global__ void k(const int* in, int* out, int n) {
    static __shared__ int s[32];
    int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int v = warp_sum(i < n ? in[i] : 0);
    if (lane == 0) s[warp] = v;
    __syncthreads();
    v = threadIdx.x < blockDim.x / warpSize ? s[lane] : 0;
    if (warp == 0) v = warp_sum(v);
    if (threadIdx.x == 0) out[blockIdx.x] = v;
}

//// single_pass_with_ticket
__device__ unsigned ticket = 0;
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int s[128];
    __shared__ bool last;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = i < n ? in[i] : 0;
    __syncthreads();
    for (int stride = 64; stride > 0; stride /= 2) {
        if (threadIdx.x < stride) s[threadIdx.x] += s[threadIdx.x + stride];
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        out[blockIdx.x] = s[0];
        __threadfence();
        last = atomicInc(&ticket, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (last) {
        int sum = 0;
        for (int b = threadIdx.x; b < gridDim.x; b += blockDim.x) sum += ((volatile int*)out)[b];
        s[threadIdx.x] = sum;
        __syncthreads();
        for (int stride = 64; stride > 0; stride /= 2) {
            if (threadIdx.x < stride) s[threadIdx.x] += s[threadIdx.x + stride];
            __syncthreads();
        }
        if (threadIdx.x == 0) { out[gridDim.x] = s[0]; ticket = 0; }
    }
}

//// dot_product_with_cache
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int cache[128];
    int tid = threadIdx.x + blockIdx.x * blockDim.x, cacheIndex = threadIdx.x;
    int temp = 0;
    while (tid < n) {
        temp += in[tid];
        tid += blockDim.x * gridDim.x;
    }
    cache[cacheIndex] = temp;
    __syncthreads();
    int i = blockDim.x / 2;
    while (i != 0) {
        if (cacheIndex < i) cache[cacheIndex] += cache[cacheIndex + i];
        __syncthreads();
        i /= 2;
    }
    if (cacheIndex == 0) out[blockIdx.x] = cache[0];
}

//// block_then_atomic
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&total, in[i]);
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = total;
}

//// cooperative_groups_tiles [headers]
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int s[4];
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int v = cg::reduce(tile, i < n ? in[i] : 0, cg::plus<int>());
    if (tile.thread_rank() == 0) s[tile.meta_group_rank()] = v;
    block.sync();
    if (block.thread_rank() == 0) out[blockIdx.x] = s[0] + s[1] + s[2] + s[3];
}
