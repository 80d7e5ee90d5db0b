// Blocks of one thread: every request is one lane's, without a conflict and in one sector.
__global__ void transpose_padded(const float *in, float *out, int rows, int cols)
{
    __shared__ float tile[8][9];
    for (int y = 0; y < 8; ++y)
        for (int x = 0; x < 8; ++x)
            if (blockIdx.y * 8 + y < rows && blockIdx.x * 8 + x < cols)
                tile[y][x] = in[(blockIdx.y * 8 + y) * cols + blockIdx.x * 8 + x];
    __syncthreads();
    for (int x = 0; x < 8; ++x)
        for (int y = 0; y < 8; ++y)
            if (blockIdx.y * 8 + y < rows && blockIdx.x * 8 + x < cols)
                out[(blockIdx.x * 8 + x) * rows + blockIdx.y * 8 + y] = tile[y][x];
}

int main()
{
    const int rows = 512, cols = 512;
    float *in, *out;
    cudaMalloc(&in, rows * cols * 4);
    cudaMalloc(&out, rows * cols * 4);
    transpose_padded<<<dim3((cols + 7) / 8, (rows + 7) / 8), dim3(1, 1)>>>(in, out, rows, cols);
    return cudaDeviceSynchronize();
}
