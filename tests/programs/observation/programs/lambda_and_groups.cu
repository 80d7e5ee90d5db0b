// A lambda takes the kernels; their blocks go over tiles that only cooperative groups tell of.
#include <cooperative_groups.h>
#include <cstdio>
#include <vector>
namespace cg = cooperative_groups;

const int TILE = 32, ROWS = 8;

__global__ void naive(float *out, const float *in, int width, int height)
{
    auto block = cg::this_thread_block();
    int x = block.group_index().x * TILE + block.thread_index().x;
    int y = block.group_index().y * TILE + block.thread_index().y;
    for (int j = 0; j < TILE; j += ROWS)
        if (x < width && y + j < height)
            out[x * height + y + j] = in[(y + j) * width + x];
}

__global__ void no_bank_conflicts(float *out, const float *in, int width, int height)
{
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    __shared__ float tile[TILE][TILE + 1];
    const int lane = warp.thread_rank();
    const int left = blockIdx.x * TILE, top = blockIdx.y * TILE;
    for (int r = warp.meta_group_rank(); r < TILE; r += warp.meta_group_size())
        if (top + r < height && left + lane < width)
            tile[r][lane] = in[(top + r) * width + left + lane];
    block.sync();
    for (int r = warp.meta_group_rank(); r < TILE; r += warp.meta_group_size())
        if (left + r < width && top + lane < height)
            out[(left + r) * height + top + lane] = tile[lane][r];
}

int main()
{
    int width = 250, height = 130;
    std::vector<float> data(width * height), back(width * height);
    for (size_t i = 0; i < data.size(); ++i)
        data[i] = i;
    float *in, *out;
    cudaMalloc(&in, data.size() * sizeof(float));
    cudaMalloc(&out, data.size() * sizeof(float));
    cudaMemcpy(in, data.data(), data.size() * sizeof(float), cudaMemcpyHostToDevice);
    dim3 block{TILE, ROWS}, grid{unsigned(width + TILE - 1) / TILE, unsigned(height + TILE - 1) / TILE};
    auto run = [&](auto kernel, const char *name) {
        kernel<<<grid, block>>>(out, in, width, height);
        if (cudaGetLastError() != cudaSuccess)
            return;
        cudaMemcpy(back.data(), out, back.size() * sizeof(float), cudaMemcpyDeviceToHost);
        bool right = true;
        for (int r = 0; r < height; ++r)
            for (int c = 0; c < width; ++c)
                right &= back[c * height + r] == data[r * width + c];
        printf("%s %d\n", name, right);
    };
    run(naive, "naive");
    run(no_bank_conflicts, "padded");
}
