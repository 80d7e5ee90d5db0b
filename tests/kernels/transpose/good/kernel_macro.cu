// The kernels' head is a macro.
#include <stdio.h>
#define TILE 32
#define KERNEL extern "C" __global__ void
#define GID_X (blockIdx.x * TILE + threadIdx.x)
#define GID_Y (blockIdx.y * TILE + threadIdx.y)

KERNEL transposeNaiveFloat(const float *in, float *out, int rows, int cols)
{
    int x = GID_X, y = GID_Y;
    if (x < cols && y < rows) out[x * rows + y] = in[y * cols + x];
}
KERNEL transposeTileFloat(const float *in, float *out, int rows, int cols)
{
    __shared__ float t[TILE][TILE];
    int x = GID_X, y = GID_Y;
    if (x < cols && y < rows) t[threadIdx.y][threadIdx.x] = in[y * cols + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    if (x < rows && y < cols) out[y * rows + x] = t[threadIdx.x][threadIdx.y];
}
KERNEL transposePadFloat(const float *in, float *out, int rows, int cols)
{
    __shared__ float t[TILE][TILE+1];
    int x = GID_X, y = GID_Y;
    if (x < cols && y < rows) t[threadIdx.y][threadIdx.x] = in[y * cols + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    if (x < rows && y < cols) out[y * rows + x] = t[threadIdx.x][threadIdx.y];
}
int main(void)
{
    int rows = 1000, cols = 700;
    float *a, *b;
    cudaMallocManaged(&a, rows * cols * sizeof(float));
    cudaMallocManaged(&b, rows * cols * sizeof(float));
    for (int i = 0; i < rows * cols; i++) a[i] = i;
    dim3 blk(TILE, TILE), grd((cols + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
    transposeNaiveFloat<<<grd, blk>>>(a, b, rows, cols);
    transposeTileFloat<<<grd, blk>>>(a, b, rows, cols);
    transposePadFloat<<<grd, blk>>>(a, b, rows, cols);
    cudaDeviceSynchronize();
    return 0;
}
