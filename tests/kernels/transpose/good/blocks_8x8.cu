// Small blocks, all of whose threads are at work, and a tile of their size.
#define TILE 8
__global__ void transpose_naive(const float *in, float *out, int rows, int cols)
{
    int c = blockIdx.x * TILE + threadIdx.x, r = blockIdx.y * TILE + threadIdx.y;
    if (r < rows && c < cols)
        out[c * rows + r] = in[r * cols + c];
}

__global__ void transpose_shared(const float *in, float *out, int rows, int cols)
{
    __shared__ float tile[TILE][TILE];
    int c = blockIdx.x * TILE + threadIdx.x, r = blockIdx.y * TILE + threadIdx.y;
    if (r < rows && c < cols)
        tile[threadIdx.y][threadIdx.x] = in[r * cols + c];
    __syncthreads();
    c = blockIdx.y * TILE + threadIdx.x;
    r = blockIdx.x * TILE + threadIdx.y;
    if (r < cols && c < rows)
        out[r * rows + c] = tile[threadIdx.x][threadIdx.y];
}

int main()
{
    const int rows = 512, cols = 256;
    float *in, *out;
    cudaMalloc(&in, rows * cols * 4);
    cudaMalloc(&out, rows * cols * 4);
    dim3 grid((cols + TILE - 1) / TILE, (rows + TILE - 1) / TILE), block(TILE, TILE);
    transpose_naive<<<grid, block>>>(in, out, rows, cols);
    transpose_shared<<<grid, block>>>(in, out, rows, cols);
    return cudaDeviceSynchronize();
}
