// Which instance is launched is decided while the program runs; the text has both, with their blocks.
#include <stdio.h>
#include <stdlib.h>
template <int TILE>
__global__ void transposeNoBankConflicts(float *odata, const float *idata, int width, int height)
{
    __shared__ float tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    if (x < width && y < height) tile[threadIdx.y][threadIdx.x] = idata[y * width + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    if (x < height && y < width) odata[y * height + x] = tile[threadIdx.x][threadIdx.y];
}
void run(int tile, float *out, const float *in, int w, int h)
{
    dim3 threads(tile, tile);
    dim3 grid((w + tile - 1) / tile, (h + tile - 1) / tile);
    if (tile == 16)
        transposeNoBankConflicts<16><<<grid, threads>>>(out, in, w, h);
    else
        transposeNoBankConflicts<32><<<grid, threads>>>(out, in, w, h);
}
int main(int argc, char **argv)
{
    int tile = 32, w = 256, h = 128;
    if (argc > 1) tile = atoi(argv[1]);
    float *p, *q, *m = (float *)malloc(w * h * sizeof(float));
    for (int i = 0; i < w * h; i++) m[i] = (float)i;
    cudaMalloc((void **)&p, w * h * sizeof(float));
    cudaMalloc((void **)&q, w * h * sizeof(float));
    cudaMemcpy(p, m, w * h * sizeof(float), cudaMemcpyHostToDevice);
    run(tile, q, p, w, h);
    cudaMemcpy(m, q, w * h * sizeof(float), cudaMemcpyDeviceToHost);
    printf("%f\n", m[1]);
    return 0;
}
