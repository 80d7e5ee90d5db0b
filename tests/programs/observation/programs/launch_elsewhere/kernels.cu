#include "kernels.cuh"

__global__ void flipPlain(const float *from, float *to, int n)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (col < n && row < n) to[col * n + row] = from[row * n + col];
}
