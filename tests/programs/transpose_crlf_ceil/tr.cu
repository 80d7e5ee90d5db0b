#include <stdio.h>
#include <math.h>
#define W 40
#define H 24
__global__ void naive(const float *in, float *out, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < w && y < h)
        out[x * h + y] = in[y * w + x];
}
int main()
{
    float a[H][W], t[W][H], *da, *dt;
    for (int y = 0; y < H; y++) for (int x = 0; x < W; x++) a[y][x] = y * 1000 + x;
    cudaMalloc(&da, sizeof a);
    cudaMalloc(&dt, sizeof t);
    cudaMemcpy(da, a, sizeof a, cudaMemcpyHostToDevice);
    dim3 block = { 32, 32 };
    dim3 grid = { (unsigned)ceil(W / 32.0), (unsigned)ceil(H / 32.0) };
    naive<<<grid, block>>>(da, dt, W, H);
    cudaMemcpy(t, dt, sizeof t, cudaMemcpyDeviceToHost);
    printf("%d %d\n", t[5][3] == 3005, t[39][23] == 23039);
    cudaFree(da);
    cudaFree(dt);
    return 0;
}
