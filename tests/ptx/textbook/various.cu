// One array in, one out, blocks of 128.

//// saxpy_grid_stride
extern "C" __global__ void k(const int* in, int* out, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = 3 * in[i] + i;
}

//// reversed_in_shared_memory
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int s[128];
    s[threadIdx.x] = in[blockIdx.x * 128 + threadIdx.x];
    __syncthreads();
    out[blockIdx.x * 128 + threadIdx.x] = s[127 - threadIdx.x];
}

//// stencil_of_radius_three
extern "C" __global__ void k(const int* in, int* out, int n) {
    const int R = 3;
    __shared__ int temp[128 + 2 * R];
    int g = threadIdx.x + blockIdx.x * blockDim.x, l = threadIdx.x + R;
    temp[l] = in[g];
    if (threadIdx.x < R) {
        temp[l - R] = g >= R ? in[g - R] : 0;
        temp[l + 128] = g + 128 < n ? in[g + 128] : 0;
    }
    __syncthreads();
    int result = 0;
    for (int offset = -R; offset <= R; offset++) result += temp[l + offset];
    out[g] = result;
}

//// n_body_tiles
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int positions[128];
    int i = blockIdx.x * 128 + threadIdx.x, own = in[i], force = 0;
    for (int tile = 0; tile < n; tile += 128) {
        positions[threadIdx.x] = in[tile + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < 128; ++j) force += (positions[j] - own) % 17;
        __syncthreads();
    }
    out[i] = force;
}

//// monte_carlo
extern "C" __global__ void k(const int* in, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, inside = 0;
    unsigned state = in[i] * 747796405u + 2891336453u;
    for (int trial = 0; trial < 20; ++trial) {
        state = state * 1664525u + 1013904223u;
        int x = state >> 16 & 1023;
        state = state * 1664525u + 1013904223u;
        int y = state >> 16 & 1023;
        inside += x * x + y * y < 1024 * 1024;
    }
    out[i] = inside;
}

//// compaction_with_atomic_offset
__device__ int used = 0;
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int count, start;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    int own = -1;
    if (in[i] % 3 == 0) own = atomicAdd(&count, 1);
    __syncthreads();
    if (threadIdx.x == 0) start = atomicAdd(&used, count);
    __syncthreads();
    if (own >= 0) {
        atomicAdd(&out[0], in[i]);
        atomicAdd(&out[1], start + own);
    }
}

//// ballot_compaction
extern "C" __global__ void k(const int* in, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
    unsigned chosen = __ballot_sync(0xffffffffu, in[i] & 1);
    int base = i - lane, rank = __popc(chosen & ((1u << lane) - 1));
    out[i] = -1;
    __syncwarp();
    if (in[i] & 1) out[base + rank] = in[i];
}

//// warps_take_turns
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads(); /* unused */
    for (int w = 0; w < 4; ++w) {
        if (threadIdx.x == w * 32) sum = sum * 7 + in[blockIdx.x * 128 + threadIdx.x];
        __syncthreads();
    }
    out[blockIdx.x * 128 + threadIdx.x] = sum;
}

//// counted_votes
extern "C" __global__ void k(const int* in, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, v = in[i];
    int odd = __syncthreads_count(v & 1), any = __syncthreads_or(v > 900), all = __syncthreads_and(v >= 0);
    out[i] = odd * 4 + any * 2 + all;
}

//// lock_of_a_block
__device__ int lock = 0;
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int s;
    if (threadIdx.x == 0) s = 0;
    __syncthreads();
    atomicAdd(&s, in[blockIdx.x * 128 + threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0) {
        while (atomicCAS(&lock, 0, 1) != 0);
        __threadfence(); /* acquire */
        out[0] = out[0] + s;
        __threadfence();
        atomicExch(&lock, 0);
    }
}

//// maximum_with_cas
extern "C" __global__ void k(const int* in, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, v = in[i], old = out[0];
    while (old < v) {
        int seen = atomicCAS(out, old, v);
        if (seen == old) break;
        old = seen;
    }
}

//// block_barrier_object [headers]
#include <cuda/barrier>
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ int s[128];
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    int sum = 0;
    for (int round = 0; round < 3; ++round) {
        s[threadIdx.x] = in[blockIdx.x * 128 + threadIdx.x] + round;
        bar.arrive_and_wait();
        sum = sum * 3 + s[127 - threadIdx.x];
        bar.arrive_and_wait();
    }
    out[blockIdx.x * 128 + threadIdx.x] = sum;
}

//// producers_and_consumers [headers]
#include <cuda/barrier>
using barrier = cuda::barrier<cuda::thread_scope_block>;
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ alignas(barrier) char room[2 * sizeof(barrier)];
    __shared__ int s[64];
    barrier *full = (barrier*)room, *empty = full + 1;
    int t = threadIdx.x;
    if (t == 0) { init(full, 128); init(empty, 128); }
    __syncthreads();
    int sum = 0;
    for (int round = 0; round < 4; ++round) {
        if (t < 64) {
            if (round) empty->arrive_and_wait();
            s[t] = in[blockIdx.x * 128 + t] + round;
            (void)full->arrive();
        } else {
            full->arrive_and_wait();
            sum = sum * 5 + s[127 - t];
            if (round < 3) (void)empty->arrive();
        }
    }
    out[blockIdx.x * 128 + t] = sum;
}

//// partitioned_groups [headers]
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int s[128];
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<16>(block);
    int t = block.thread_rank(), i = blockIdx.x * 128 + t;
    s[t] = in[i];
    tile.sync();
    int sum = 0;
    for (int k = 0; k < 16; ++k) sum += s[t / 16 * 16 + k] * (k + 1);
    block.sync();
    s[t] = sum;
    block.sync();
    out[i] = s[(t + 64) % 128];
}

//// staged_copies [headers]
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int s[128];
    auto block = cg::this_thread_block();
    int sum = 0;
    for (int tile = 0; tile < n; tile += 128) {
        cg::memcpy_async(block, s, in + tile, sizeof(int) * 128);
        cg::wait(block);
        sum = sum * 3 + s[(threadIdx.x * 5) % 128];
        block.sync();
    }
    out[blockIdx.x * 128 + threadIdx.x] = sum;
}
