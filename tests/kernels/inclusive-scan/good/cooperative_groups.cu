// Cooperative groups: warps as tiles, and a grid that waits for itself between its phases.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

template <typename Group>
__device__ float scan_of(const Group &group, float value)
{
    for (int d = 1; d < group.size(); d *= 2) {
        float before = group.shfl_up(value, d);
        if (group.thread_rank() >= d)
            value += before;
    }
    return value;
}

__device__ float scan_of_block(cg::thread_block block, float value, float *of_warp)
{
    auto warp = cg::tiled_partition<32>(block);
    value = scan_of(warp, value);
    if (warp.thread_rank() == 31)
        of_warp[warp.meta_group_rank()] = value;
    block.sync();
    float before = 0;
    for (int w = 0; w < warp.meta_group_rank(); ++w)
        before += of_warp[w];
    block.sync();
    return value + before;
}

__global__ void scan_all(const float *in, float *out, float *sums, int n)
{
    __shared__ float of_warp[8];
    __shared__ float carry;
    cg::grid_group grid = cg::this_grid();
    cg::thread_block block = cg::this_thread_block();
    // A block has one stretch of the array, which it goes through piece by piece.
    int per_block = (n + gridDim.x - 1) / gridDim.x;
    int begin = min(blockIdx.x * per_block, n), end = min(begin + per_block, n);
    if (block.thread_rank() == 0)
        carry = 0;
    block.sync();
    for (int first = begin; first < end; first += blockDim.x) {
        int i = first + threadIdx.x;
        float value = carry + scan_of_block(block, i < end ? in[i] : 0.f, of_warp);
        if (i < end)
            out[i] = value;
        block.sync();
        if (threadIdx.x == blockDim.x - 1)
            carry = value;
        block.sync();
    }
    if (block.thread_rank() == 0)
        sums[blockIdx.x] = carry;
    grid.sync();
    float before = 0;
    for (int b = 0; b < blockIdx.x; ++b)
        before += sums[b];
    for (int i = begin + threadIdx.x; i < end; i += blockDim.x)
        out[i] += before;
}

void solve(const float *in, float *out, int n)
{
    int blocks = 8;
    float *sums;
    cudaMalloc(&sums, blocks * sizeof(float));
    void *arguments[] = {(void *)&in, (void *)&out, (void *)&sums, (void *)&n};
    cudaLaunchCooperativeKernel((void *)scan_all, dim3(blocks), dim3(256), arguments, 0, 0);
    cudaDeviceSynchronize();
    cudaFree(sums);
}
