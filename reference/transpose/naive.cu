// One thread, one element.  Reads run along a row and are coalesced; writes run down a column and are not.
__global__ void transpose_naive(const float *in, float *out, int rows, int cols)
{
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && col < cols)
        out[col * rows + row] = in[row * cols + col];
}
