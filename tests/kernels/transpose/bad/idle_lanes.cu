// Of the 32 lanes of every warp one works.
__global__ void transpose_padded(const float *in, float *out, int rows, int cols)
{
    __shared__ float tile[32][33];
    if (threadIdx.x == 0)
        for (int x = 0; x < 32; ++x)
            if (blockIdx.y * 32 + threadIdx.y < rows && blockIdx.x * 32 + x < cols)
                tile[threadIdx.y][x] = in[(blockIdx.y * 32 + threadIdx.y) * cols + blockIdx.x * 32 + x];
    __syncthreads();
    if (threadIdx.x == 0)
        for (int x = 0; x < 32; ++x)
            if (blockIdx.x * 32 + threadIdx.y < cols && blockIdx.y * 32 + x < rows)
                out[(blockIdx.x * 32 + threadIdx.y) * rows + blockIdx.y * 32 + x] = tile[x][threadIdx.y];
}
