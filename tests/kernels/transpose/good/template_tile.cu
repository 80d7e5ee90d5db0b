// Tile, rows and type as template arguments.
template <typename T, int TILE, int ROWS>
__global__ void transpose_padded(const T *__restrict__ in, T *__restrict__ out, unsigned rows, unsigned cols)
{
    __shared__ T tile[TILE][TILE + 1];
    unsigned x = blockIdx.x * TILE + threadIdx.x;
    unsigned y = blockIdx.y * TILE + threadIdx.y;
#pragma unroll
    for (int i = 0; i < TILE; i += ROWS)
        if (x < cols && y + i < rows)
            tile[threadIdx.y + i][threadIdx.x] = in[(y + i) * cols + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
#pragma unroll
    for (int i = 0; i < TILE; i += ROWS)
        if (x < rows && y + i < cols)
            out[(y + i) * rows + x] = tile[threadIdx.x][threadIdx.y + i];
}

void run(const float *in, float *out, unsigned rows, unsigned cols)
{
    const dim3 block(32, 16);
    const dim3 grid((cols + 31) / 32, (rows + 31) / 32);
    transpose_padded<float, 32, 16><<<grid, block>>>(in, out, rows, cols);
}

int main()
{
    float *in, *out;
    cudaMalloc(&in, 1 << 20);
    cudaMalloc(&out, 1 << 20);
    run(in, out, 512, 512);
    return 0;
}
