#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>
namespace cg = cooperative_groups;

__global__ void transpose_direct(const float *src, float *dst, int h, int w)
{
    auto g = cg::this_grid();
    const unsigned long long total = (unsigned long long)h * w;
    for (unsigned long long i = g.thread_rank(); i < total; i += g.size())
        dst[(i % w) * h + i / w] = src[i];
}

__device__ void move_tile(cg::thread_block block, float *buf, int pitch, const float *src, float *dst, int h, int w)
{
    const int side = block.dim_threads().x;
    const int x0 = block.group_index().x * side, y0 = block.group_index().y * side;
    const dim3 me = block.thread_index();
    const int step = block.dim_threads().y;
    for (int r = me.y; r < side; r += step)
        if (y0 + r < h && x0 + me.x < w)
            buf[r * pitch + me.x] = src[(size_t)(y0 + r) * w + x0 + me.x];
    block.sync();
    for (int r = me.y; r < side; r += step)
        if (x0 + r < w && y0 + me.x < h)
            dst[(size_t)(x0 + r) * h + y0 + me.x] = buf[me.x * pitch + r];
}

__global__ void transpose_smem(const float *src, float *dst, int h, int w)
{
    extern __shared__ float buf[];
    move_tile(cg::this_thread_block(), buf, blockDim.x, src, dst, h, w);
}

__global__ void transpose_smem_nobc(const float *src, float *dst, int h, int w)
{
    extern __shared__ float buf[];
    move_tile(cg::this_thread_block(), buf, blockDim.x | 1, src, dst, h, w);
}

#define CUDA(x) if ((x) != cudaSuccess) { fprintf(stderr, "CUDA error at %d\n", __LINE__); abort(); }
int main(int argc, char *argv[])
{
    int h = argc > 2 ? atoi(argv[1]) : 96, w = argc > 2 ? atoi(argv[2]) : 160;
    float *in, *out;
    CUDA(cudaMallocManaged(&in, sizeof(float) * h * w));
    CUDA(cudaMallocManaged(&out, sizeof(float) * h * w));
    for (int i = 0; i < h * w; i++) in[i] = i;
    auto verify = [&](const char *what) {
        CUDA(cudaGetLastError());
        CUDA(cudaDeviceSynchronize());
        int wrong = 0;
        for (int r = 0; r < h; r++) for (int c = 0; c < w; c++) wrong += out[c * h + r] != in[r * w + c];
        printf("%s: %d wrong\n", what, wrong);
    };
    transpose_direct<<<32, 256>>>(in, out, h, w);
    verify("direct");
    dim3 b(32, 4), g((w + 31) / 32, (h + 31) / 32);
    transpose_smem<<<g, b, 32 * 32 * sizeof(float)>>>(in, out, h, w);
    verify("smem");
    transpose_smem_nobc<<<g, b, 32 * 33 * sizeof(float)>>>(in, out, h, w);
    verify("nobc");
    CUDA(cudaFree(in));
    CUDA(cudaFree(out));
}
