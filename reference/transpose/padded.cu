// A column more than is used shifts every row of the tile by one bank.  32×8 threads, four rows each.
#define TILE 32
#define ROWS 8

__global__ void transpose_padded(const float *in, float *out, int rows, int cols)
{
    __shared__ float tile[TILE][TILE + 1];

    const int col = blockIdx.x * TILE + threadIdx.x;
    for (int y = threadIdx.y; y < TILE; y += ROWS) {
        const int row = blockIdx.y * TILE + y;
        if (row < rows && col < cols)
            tile[y][threadIdx.x] = in[row * cols + col];
    }
    __syncthreads();

    const int out_col = blockIdx.y * TILE + threadIdx.x;
    for (int y = threadIdx.y; y < TILE; y += ROWS) {
        const int out_row = blockIdx.x * TILE + y;
        if (out_row < cols && out_col < rows)
            out[out_row * rows + out_col] = tile[threadIdx.x][y];
    }
}
