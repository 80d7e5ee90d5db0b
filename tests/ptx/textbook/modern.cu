// Warps with jobs of their own, copies that go on by themselves, blocks that follow each other; 4 blocks of 64 threads.

//// sums_by_warps
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int s[64], part[2];
    int t = threadIdx.x, lane = t & 31, i = blockIdx.x * 64 + t;
    s[t] = i < n ? in[i] : 0;
    __syncwarp();
    for (int d = 16; d > 0; d >>= 1) {
        if (lane < d) s[t] += s[t + d];
        __syncwarp();
    }
    if (lane == 0) part[t >> 5] = s[t];
    __syncthreads();
    if (t == 0) out[blockIdx.x] = part[0] + part[1];
}

//// sums_of_levels
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int s[64];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    s[t] = i < n ? in[i] : 0;
    for (int d = 32; d > 0; d >>= 1) {
        if (d >= 32) __syncthreads();
        else __syncwarp();
        if (t < d) s[t] += s[t + d];
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

//// copies_in_two_buffers
__device__ void begin_copy(int* to, const int* from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from));
    asm volatile("cp.async.commit_group;");
}
#define wait_but(N) asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory")
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int s[2][64];
    int t = threadIdx.x, sum = 0, tiles = n / 64;
    begin_copy(&s[0][t], &in[t]);
    for (int m = 0; m < tiles; ++m) {
        if (m + 1 < tiles) {
            begin_copy(&s[(m + 1) & 1][t], &in[(m + 1) * 64 + t]);
            wait_but(1);
        } else {
            wait_but(0);
        }
        __syncthreads();
        sum += s[m & 1][63 - t] * (m + 1);
        __syncthreads();
    }
    if (blockIdx.x == 0) out[t] = sum;
}

//// copies_in_four_stages
#define copy16(to, from)                                                     \
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from))
#define commit() asm volatile("cp.async.commit_group;")
#define wait_but(N) asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory")
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ __align__(16) int s[4][64];
    int t = threadIdx.x, sum = 0, tiles = n / 64;
    for (int m = 0; m < 3; ++m) {
        if (t < 16 && m < tiles) copy16(&s[m][4 * t], &in[m * 64 + 4 * t]);
        commit();
    }
    for (int m = 0; m < tiles; ++m) {
        wait_but(2);
        __syncthreads();
        if (t < 16 && m + 3 < tiles) copy16(&s[(m + 3) & 3][4 * t], &in[(m + 3) * 64 + 4 * t]);
        commit();
        sum += s[m & 3][63 - t] * (m + 1);
    }
    if (blockIdx.x == 0) out[t] = sum;
}

//// named_barriers
// The second warp makes what the first one uses, in two buffers: barriers 1 and 2 are full, 3 and 4 are empty.
#define meet(number) asm volatile("bar.sync %0, 64;" ::"r"(number) : "memory")
#define come_to(number) asm volatile("bar.arrive %0, 64;" ::"r"(number) : "memory")
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int s[2][32];
    int t = threadIdx.x, lane = t & 31, tiles = n / 32;
    if (t >= 32) {
        for (int m = 0; m < tiles; ++m) {
            if (m > 1) meet(3 + (m & 1));
            s[m & 1][lane] = in[m * 32 + lane];
            come_to(1 + (m & 1));
        }
    } else {
        int sum = 0;
        for (int m = 0; m < tiles; ++m) {
            meet(1 + (m & 1));
            sum += s[m & 1][31 - lane] * (m + 1);
            if (m + 2 < tiles) come_to(3 + (m & 1));
        }
        if (blockIdx.x == 0) out[lane] = sum;
    }
}

//// counted_barriers
// The same with barriers in shared memory, told apart by the parity of their phase.
__device__ unsigned place(void* p) { return (unsigned)__cvta_generic_to_shared(p); }
#define arrive(b) asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(place(b)) : "memory")
__device__ void wait_for(unsigned long long* b, int parity) {
    int over = 0;
    while (!over)
        asm volatile("{\n.reg .pred p;\nmbarrier.test_wait.parity.shared.b64 p, [%1], %2;\nselp.s32 %0, 1, 0, p;\n}"
                     : "=r"(over) : "r"(place(b)), "r"(parity) : "memory");
}
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ unsigned long long full[2], empty[2];
    __shared__ int s[2][32];
    int t = threadIdx.x, lane = t & 31, tiles = n / 32;
    if (t < 4) asm volatile("mbarrier.init.shared.b64 [%0], 32;" ::"r"(place(t < 2 ? &full[t] : &empty[t - 2])) : "memory");
    __syncthreads();
    if (t >= 32) {
        for (int m = 0; m < tiles; ++m) {
            if (m > 1) wait_for(&empty[m & 1], (m / 2 - 1) & 1);
            s[m & 1][lane] = in[m * 32 + lane];
            arrive(&full[m & 1]);
        }
    } else {
        int sum = 0;
        for (int m = 0; m < tiles; ++m) {
            wait_for(&full[m & 1], m / 2 & 1);
            sum += s[m & 1][31 - lane] * (m + 1);
            arrive(&empty[m & 1]);
        }
        if (blockIdx.x == 0) out[lane] = sum;
    }
}

//// split_barrier [headers]
#include <cuda/barrier>
#define arrive_early() bar.arrive()
#define wait_late(token) bar.wait(static_cast<cuda::barrier<cuda::thread_scope_block>::arrival_token&&>(token))
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ int s[64];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    if (t == 0) init(&bar, 64);
    __syncthreads();
    s[t] = i < n ? in[i] : 0;
    auto token = arrive_early();
    int own = i < n ? in[i] * 3 : 0;
    wait_late(token);
    if (i < n) out[i] = own + s[63 - t];
}

//// look_back
// Prefix sums in one pass: a block publishes its sum, then what stands before it, and looks at those before it.
__device__ unsigned ticket;
__device__ int sums[4], prefixes[4];
__device__ volatile int states[4];
__device__ void publish(int* to, int b, int value, int state) {
    to[b] = value;
    __threadfence();
    states[b] = state;
}
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int s[64], before, number;
    int t = threadIdx.x;
    if (t == 0) number = atomicAdd(&ticket, 1u);
    __syncthreads();
    int b = number, i = b * 64 + t;
    s[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int d = 1; d < 64; d *= 2) {
        int left = t >= d ? s[t - d] : 0;
        __syncthreads();
        s[t] += left;
        __syncthreads();
    }
    if (t == 0) {
        int sum = 0;
        publish(b ? sums : prefixes, b, s[63], b ? 1 : 2);
        for (int p = b - 1; p >= 0; --p) {
            int state;
            while ((state = states[p]) == 0) { }
            __threadfence(); /* acquire */
            if (state == 2) {
                sum += prefixes[p];
                break;
            }
            sum += sums[p];
        }
        if (b) publish(prefixes, b, sum + s[63], 2);
        before = sum;
    }
    __syncthreads();
    if (i < n) out[i] = before + s[t];
}

//// persistent_blocks
__device__ unsigned next_tile;
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int tile, s[64];
    int t = threadIdx.x;
    for (;;) {
        if (t == 0) tile = atomicAdd(&next_tile, 1u);
        __syncthreads();
        int i = tile * 64 + t;
        if (tile * 64 >= n) return;
        s[t] = i < n ? in[i] : 0;
        __syncthreads();
        if (i < n) out[i] = s[t ^ 1] * 2 + s[t];
        __syncthreads(); /* unused */
    }
}

//// sum_by_the_last_block
__device__ unsigned done;
__device__ int parts[4];
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int s[64];
    __shared__ bool last;
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    s[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int d = 32; d > 0; d /= 2) {
        if (t < d) s[t] += s[t + d];
        __syncthreads();
    }
    if (t == 0) {
        parts[blockIdx.x] = s[0];
        __threadfence();
        last = atomicInc(&done, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && t < 4) out[t] = parts[t];
}

//// odd_even_sort_until_done
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int s[128], swapped;
    int t = threadIdx.x, low = blockIdx.x * 128;
    s[t] = low + t < n ? in[low + t] : 0x7fffffff;
    s[t + 64] = low + t + 64 < n ? in[low + t + 64] : 0x7fffffff;
    for (;;) {
        __syncthreads();
        if (t == 0) swapped = 0;
        __syncthreads();
        for (int odd = 0; odd < 2; ++odd) {
            int i = 2 * t + odd;
            if (i + 1 < 128 && s[i] > s[i + 1]) {
                int x = s[i];
                s[i] = s[i + 1];
                s[i + 1] = x;
                atomicExch(&swapped, 1);
            }
            __syncthreads();
        }
        if (!swapped) break;
    }
    if (low + t < n) out[low + t] = s[t];
    if (low + t + 64 < n) out[low + t + 64] = s[t + 64];
}

//// swizzled_transpose
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int s[8][8];
    int x = threadIdx.x & 7, y = threadIdx.x >> 3, at = blockIdx.x * 64;
    if (at + 64 > n) return;
    s[y][x ^ y] = in[at + y * 8 + x];
    __syncthreads();
    out[at + y * 8 + x] = s[x][y ^ x];
}

//// blocks_in_a_row [headers]
// Each block waits for the one before it, and adds to what that one left.
#include <cuda/atomic>
#define fence_before_flag() cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_device)
__device__ int turn;
__device__ int carried;
extern "C" __global__ void k(const int* in, int* out, int n) {
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    cuda::atomic_ref<int, cuda::thread_scope_device> flag(turn);
    if (t == 0) {
        while (flag.load(cuda::memory_order_acquire) != blockIdx.x) { }
        int sum = carried;
        for (int k = 0; k < 64 && blockIdx.x * 64 + k < n; ++k) sum += in[blockIdx.x * 64 + k];
        carried = sum;
        out[blockIdx.x] = sum;
        fence_before_flag();
        flag.store(blockIdx.x + 1, cuda::memory_order_relaxed);
    }
}

//// ring_between_warps
// The first warp puts numbers into a ring that the second empties; both say how far they are.
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int ring[4];
    __shared__ volatile int put, taken;
    int t = threadIdx.x;
    if (t == 0) put = taken = 0;
    __syncthreads();
    if (t == 0) {
        for (int m = 0; m < 20; ++m) {
            while (m - taken >= 4) { }
            ring[m & 3] = in[blockIdx.x * 20 + m];
            __threadfence_block();
            put = m + 1;
        }
    } else if (t == 32) {
        for (int m = 0; m < 20; ++m) {
            while (put <= m) { }
            int x = ring[m & 3];
            __threadfence_block(); /* a fence */
            taken = m + 1;
            out[blockIdx.x * 20 + m] = x;
        }
    }
}

//// compaction_by_warps
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int counts[2], found[64];
    int t = threadIdx.x, lane = t & 31, warp = t >> 5, i = blockIdx.x * 64 + t;
    bool wanted = i < n && in[i] % 3 == 0;
    unsigned mask = __ballot_sync(~0u, wanted);
    if (lane == 0) counts[warp] = __popc(mask);
    __syncthreads();
    int place = (warp ? counts[0] : 0) + __popc(mask & ((1u << lane) - 1));
    if (wanted) found[place] = in[i];
    __syncthreads();
    if (t < counts[0] + counts[1]) out[blockIdx.x * 64 + t] = found[t];
}

//// locked_list
__device__ int lock, length;
extern "C" __global__ void k(const int* in, int* out, int n) {
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    if (t == 0) {
        while (atomicCAS(&lock, 0, 1) != 0) { }
        __threadfence(); /* acquire */
        out[length] = 1;
        length = length + 1;
        __threadfence();
        atomicExch(&lock, 0);
    }
}
