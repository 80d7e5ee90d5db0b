// No padding: an exclusive or spreads a column over the banks.
__global__ void transpose_swizzled_no_conflicts(const float *in, float *out, int rows, int cols)
{
    __shared__ float tile[32][32];
    const int tx = threadIdx.x, ty = threadIdx.y;
    int col = blockIdx.x * 32 + tx, row = blockIdx.y * 32 + ty;
    if (row < rows && col < cols)
        tile[ty][tx ^ ty] = in[row * cols + col];
    __syncthreads();
    col = blockIdx.y * 32 + tx;
    row = blockIdx.x * 32 + ty;
    if (row < cols && col < rows)
        out[row * rows + col] = tile[tx][ty ^ tx];
}
