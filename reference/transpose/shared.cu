// A 32×32 tile: both sides of global memory are coalesced, but a column of the tile lies in one bank.
#define TILE 32

__global__ void transpose_shared(const float *in, float *out, int rows, int cols)
{
    __shared__ float tile[TILE][TILE];

    const int col = blockIdx.x * TILE + threadIdx.x;
    const int row = blockIdx.y * TILE + threadIdx.y;
    if (row < rows && col < cols)
        tile[threadIdx.y][threadIdx.x] = in[row * cols + col];
    __syncthreads();

    const int out_col = blockIdx.y * TILE + threadIdx.x;
    const int out_row = blockIdx.x * TILE + threadIdx.y;
    if (out_row < cols && out_col < rows)
        out[out_row * rows + out_col] = tile[threadIdx.x][threadIdx.y];
}
