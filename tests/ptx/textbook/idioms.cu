// What else kernels of courses and libraries are made of; 4 blocks of 64 threads unless something else is said.

//// matched_histogram
extern "C" __global__ void k(const int* in, int* out, int n) {
    int i = blockIdx.x * 64 + threadIdx.x, key = i < n ? in[i] % 16 : 99, all;
    unsigned same = __match_any_sync(~0u, key), whole = __match_all_sync(~0u, key / 50, &all);
    if (key < 16 && __ffs(same) - 1 == (threadIdx.x & 31)) atomicAdd(&out[key], __popc(same));
    if (threadIdx.x % 32 == 0) atomicAdd(&out[16], all + (whole != 0));
}

//// one_barrier_a_tile
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int s[2][64];
    int t = threadIdx.x, sum = 0;
    s[0][t] = in[t];
    __syncthreads();
    for (int m = 0; m < 3; ++m) {
        if (m < 2) s[(m + 1) & 1][t] = in[(m + 1) * 64 + t];
        for (int j = 0; j < 64; ++j) sum += s[m & 1][j] * (j ^ t);
        __syncthreads();
    }
    if (blockIdx.x == 0) out[t] = sum;
}

//// register_queue [block 16 4] [grid 1]
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int p[6][18];
    int x = threadIdx.x, y = threadIdx.y, behind = 0, now = in[y * 16 + x], ahead;
    for (int z = 0; z < 3; ++z) {
        ahead = z < 2 ? in[(z + 1) * 64 + y * 16 + x] : 0;
        p[y + 1][x + 1] = now;
        if (x == 0) p[y + 1][0] = p[y + 1][17] = 0;
        if (y == 0) p[0][x + 1] = p[5][x + 1] = 0;
        __syncthreads();
        out[z * 64 + y * 16 + x] =
            behind + ahead + p[y][x + 1] + p[y + 2][x + 1] + p[y + 1][x] + p[y + 1][x + 2] - 6 * now;
        __syncthreads();
        behind = now;
        now = ahead;
    }
}

//// halves_of_warps
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int s[64];
    int t = threadIdx.x, i = blockIdx.x * 64 + t, l = t & 31;
    unsigned m = l < 16 ? 0xffff : 0xffff0000;
    s[t] = i < n ? in[i] : 0;
    if (l < 16) {
        __syncwarp(m);
        int a = s[t ^ 15];
        __syncwarp(m);
        s[t] = a * 2;
        __syncwarp(m);
        if (i < n) out[i] = s[t ^ 1];
    } else {
        __syncwarp(m);
        int a = s[t ^ 7];
        __syncwarp(m);
        s[t] = a * 3;
        __syncwarp(m);
        if (i < n) out[i] = s[t ^ 2];
    }
}

//// uniform_loops
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int s[64], most;
    int t = threadIdx.x, i = blockIdx.x * 64 + t, v = i < n ? in[i] : 0, rounds = 0;
    for (;;) {
        if (t == 0) most = 0;
        __syncthreads();
        atomicMax(&most, v);
        __syncthreads();
        int m = most;
        __syncthreads();
        if (m < 100) break;
        if (++rounds % 2) {
            if (v == m) v /= 2;
            continue;
        }
        s[t] = v;
        __syncthreads();
        v = (s[t] + s[63 - t]) / 2;
    }
    if (i < n) out[i] = v + rounds * 1000;
}

//// tiles_of_eight [headers]
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int s[64];
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    int r = tile.thread_rank(), t = threadIdx.x, i = blockIdx.x * 64 + t, v = i < n ? in[i] : 0;
    for (int d = 1; d < 8; d *= 2) {
        int x = tile.shfl_up(v, d);
        if (r >= d) v += x;
    }
    s[t] = v;
    tile.sync();
    int last = s[t | 7];
    tile.sync();
    s[t] = last - v + tile.any(v > 3000) + __popc(tile.ballot(v & 1));
    tile.sync();
    if (i < n) out[i] = s[t ^ 5] + tile.meta_group_rank();
}

//// radix_by_ballots
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int s[64], zeros[2];
    int t = threadIdx.x, l = t & 31, w = t >> 5, i = blockIdx.x * 64 + t, v = i < n ? in[i] : 1023;
    for (int b = 0; b < 10; ++b) {
        unsigned m = __ballot_sync(~0u, !(v >> b & 1));
        if (l == 0) zeros[w] = __popc(m);
        __syncthreads();
        int before = __popc(m & ((1u << l) - 1)) + (w ? zeros[0] : 0);
        s[v >> b & 1 ? zeros[0] + zeros[1] + t - before : before] = v;
        __syncthreads();
        v = s[t];
    }
    if (i < n) out[i] = v;
}

//// elimination [grid 1] [block 8 8]
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int m[8][9], inverse;
    const int p = 10007;
    int x = threadIdx.x, y = threadIdx.y;
    m[y][x] = (in[y * 8 + x] + (x == y) * 5000) % p;
    for (int k = 0; k < 8; ++k) {
        if (x == k && y == k) {
            inverse = 1;
            for (int e = p - 2, b = m[k][k]; e; e >>= 1, b = b * b % p)
                if (e & 1) inverse = inverse * b % p;
        }
        __syncthreads();
        int f = y > k ? m[y][k] * inverse % p : 0, pivot = m[k][x];
        __syncthreads();
        if (y > k) m[y][x] = ((m[y][x] - f * pivot) % p + p) % p;
    }
    out[y * 8 + x] = m[y][x];
}

//// longest_common_subsequence [grid 1]
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int d[3][65];
    int t = threadIdx.x;
    for (int r = 0; r < 3; ++r) {
        d[r][t + 1] = 0;
        if (t == 0) d[r][0] = 0;
    }
    __syncthreads(); /* unused */
    for (int g = 2; g <= 128; ++g) {
        int i = t + 1, j = g - i, *now = d[g % 3], *one = d[(g + 2) % 3], *two = d[(g + 1) % 3];
        if (j >= 1 && j <= 64) {
            now[i] = in[i - 1] % 4 == in[99 + j] % 4 ? two[i - 1] + 1 : max(one[i], one[i - 1]);
            if (j == 64) out[t] = now[i];
        }
        __syncthreads();
    }
}

//// work_list [grid 1]
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int queue[2][64], size[2], level[64];
    int t = threadIdx.x, now = 0, depth = 0;
    level[t] = t ? -1 : 0;
    if (t == 0) {
        queue[0][0] = 0;
        size[0] = 1;
        size[1] = 0;
    }
    __syncthreads();
    while (size[now] > 0) {
        ++depth;
        for (int q = t; q < size[now]; q += 64)
            for (int e = 0; e < 3; ++e) {
                int to = in[queue[now][q] * 3 + e] % 64;
                if (atomicCAS(&level[to], -1, depth) == -1) queue[now ^ 1][atomicAdd(&size[now ^ 1], 1)] = to;
            }
        __syncthreads();
        if (t == 0) size[now] = 0;
        now ^= 1;
        __syncthreads();
    }
    out[t] = level[t];
}

//// all_pairs [grid 1] [block 8 8]
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int d[8][8];
    int x = threadIdx.x, y = threadIdx.y;
    d[y][x] = x == y ? 0 : in[y * 8 + x] + 1;
    __syncthreads();
    for (int k = 0; k < 8; ++k) {
        int via = d[y][k] + d[k][x];
        if (via < d[y][x]) d[y][x] = via;
        __syncthreads();
    }
    out[y * 8 + x] = d[y][x];
}
