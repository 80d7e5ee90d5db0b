// The grid is computed by a template far from the launch, and rounded down.
#include <cstdio>
#include <cstdlib>

struct Grid {
    dim3 blocks, threads;
};

template <int SIDE> Grid cover(unsigned w, unsigned h)
{
    Grid g;
    g.threads = dim3(SIDE, SIDE);
    g.blocks.x = w >> (SIDE == 16 ? 4 : 5);
    g.blocks.y = h >> (SIDE == 16 ? 4 : 5);
    return g;
}

__global__ void naiveTranspose(float *out, const float *in, int rows, int cols)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < rows && c < cols) out[c * rows + r] = in[r * cols + c];
}

template <typename F> void timed(const char *what, F f)
{
    f();
    cudaDeviceSynchronize();
    printf("%s\n", what);
}

int main()
{
    const int rows = 512, cols = 256;
    float *h = (float *)calloc(rows * cols, 4), *in, *out;
    for (int i = 0; i < rows * cols; ++i) h[i] = i;
    cudaMalloc((void **)&in, rows * cols * 4);
    cudaMalloc((void **)&out, rows * cols * 4);
    cudaMemcpy(in, h, rows * cols * 4, cudaMemcpyHostToDevice);
    Grid g = cover<16>(cols, rows);
    timed("naive", [&] { naiveTranspose<<<g.blocks, g.threads>>>(out, in, rows, cols); });
    cudaMemcpy(h, out, rows * cols * 4, cudaMemcpyDeviceToHost);
    return h[1] == cols ? 0 : 1;
}
