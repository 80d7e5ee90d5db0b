// Half a tile for a whole one.
__global__ void transpose_shared(const float *in, float *out, int rows, int cols)
{
    __shared__ float tile[16][32];
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
    if (r < rows && c < cols)
        tile[threadIdx.y][threadIdx.x] = in[r * cols + c];
    __syncthreads();
    c = blockIdx.y * 32 + threadIdx.x;
    r = blockIdx.x * 32 + threadIdx.y;
    if (r < cols && c < rows)
        out[r * rows + c] = tile[threadIdx.x][threadIdx.y];
}

int main()
{
    float *a, *b;
    cudaMalloc(&a, 4096);
    cudaMalloc(&b, 4096);
    transpose_shared<<<dim3(1, 1), dim3(32, 32)>>>(a, b, 32, 32);
    return 0;
}
