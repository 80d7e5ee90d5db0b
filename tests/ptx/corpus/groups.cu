// Cooperative groups: blocks, tiles of a warp, whoever is there.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

extern "C" __global__ void block_group(const int* a, int* out, int n) {
    __shared__ int s[128];
    cg::thread_block block = cg::this_thread_block();
    int t = block.thread_rank();
    s[t] = a[block.group_index().x * block.size() + t];
    block.sync();
    out[block.group_index().x * block.size() + t] = s[block.size() - 1 - t] + block.thread_index().x;
}

extern "C" __global__ void tiles(const int* a, int* out, int n) {
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    cg::thread_block_tile<8> tile = cg::tiled_partition<8>(warp);
    int i = blockIdx.x * blockDim.x + threadIdx.x, x = a[i];
    for (int d = tile.size() / 2; d > 0; d /= 2) x += tile.shfl_down(x, d);
    int first = tile.shfl(x, 0);
    int any = warp.any(a[i] > 97), ballot = __popc(tile.ballot(a[i] & 1));
    tile.sync();
    out[i] = first * 8 + any * 4 + ballot + (int)tile.meta_group_rank() * 100000;
}

extern "C" __global__ void reductions(const int* a, int* out, int n) {
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    auto tile = cg::tiled_partition<4>(block);
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = cg::reduce(warp, a[i], cg::plus<int>());
    out[n + i] = cg::reduce(tile, a[i], cg::greater<int>());
    out[2 * n + i] = cg::inclusive_scan(warp, a[i]);
}

extern "C" __global__ void coalesced(const int* a, int* out, int* counter, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (a[i] & 1) {
        cg::coalesced_group here = cg::coalesced_threads();
        int base = 0;
        if (here.thread_rank() == 0) base = atomicAdd(counter, (int)here.size());
        base = here.shfl(base, 0);
        out[base + here.thread_rank()] = 1;
    }
}
