#include "flips.cuh"

__global__ void flipPlain(const float *from, float *to, int rows, int cols)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (col < cols && row < rows) to[col * rows + row] = from[row * cols + col];
}

void flip(const float *from, float *to, int rows, int cols)
{
    dim3 block(32, 4), grid((cols + 31) / 32, (rows + 3) / 4);
    flipPlain<<<grid, block>>>(from, to, rows, cols);
    VERIFY(cudaGetLastError());
}
