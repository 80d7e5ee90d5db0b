// Phases of one launch with a barrier of the whole grid between them; 6 blocks of 64 threads.

//// sum_in_one_launch [headers]
#include <cooperative_groups.h>
extern "C" __global__ void k(const int* in, int* part, int* out, int n) {
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    __shared__ int s[64];
    int sum = 0;
    for (int i = grid.thread_rank(); i < n; i += grid.size()) sum += in[i];
    s[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 32; half > 0; half /= 2) {
        if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) part[blockIdx.x] = s[0];
    grid.sync();
    if (grid.thread_rank() == 0) {
        sum = 0;
        for (int b = 0; b < gridDim.x; ++b) sum += part[b];
        out[0] = sum;
    }
}

//// smoothing_in_steps [headers]
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(const int* in, int* now, int* out, int n) {
    cg::grid_group grid = cg::this_grid();
    int i = grid.thread_rank();
    if (i < n) now[i] = in[i];
    grid.sync();
    int* next = out;
    for (int step = 0; step < 5; ++step) {
        if (i < n) next[i] = (now[i] + now[i ? i - 1 : n - 1] + now[i < n - 1 ? i + 1 : 0]) / 3;
        int* other = now; now = next; next = other;
        if (step < 4) grid.sync();
    }
}

//// prefix_sums_in_one_launch [headers]
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(const int* in, int* total, int* out, int n) {
    auto grid = cg::this_grid();
    __shared__ int s[64];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    s[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int d = 1; d < 64; d *= 2) {
        int left = t >= d ? s[t - d] : 0;
        __syncthreads();
        s[t] += left;
        __syncthreads();
    }
    if (t == 63) total[blockIdx.x] = s[63];
    grid.sync();
    int before = 0;
    for (int b = 0; b < blockIdx.x; ++b) before += total[b];
    if (i < n) out[i] = s[t] + before;
}

//// odd_even_transposition_sort [headers]
#include <cooperative_groups.h>
extern "C" __global__ void k(const int* in, int* unused, int* out, int n) {
    auto grid = cooperative_groups::this_grid();
    int i = grid.thread_rank();
    if (i < n) out[i] = in[i];
    grid.sync();
    for (int step = 0; step < n; ++step) {
        int left = 2 * i + step % 2;
        if (left + 1 < n && out[left] > out[left + 1]) {
            int kept = out[left];
            out[left] = out[left + 1];
            out[left + 1] = kept;
        }
        grid.sync();
    }
}
