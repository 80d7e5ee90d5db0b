// Stores that are not coalesced, after many that are.
__global__ void transpose_shared(const float *in, float *out, int rows, int cols)
{
    __shared__ float tile[32][32];
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
    if (r < rows && c < cols)
        tile[threadIdx.y][threadIdx.x] = in[r * cols + c];
    __syncthreads();
    for (int i = 0; i < 40; ++i)
        if (blockIdx.x * 32 + threadIdx.y < cols && blockIdx.y * 32 + threadIdx.x < rows)
            ((volatile float *)out)[(blockIdx.x * 32 + threadIdx.y) * rows + blockIdx.y * 32 + threadIdx.x] = i;
    __syncthreads();
    if (c < cols && r < rows)
        out[c * rows + r] = tile[threadIdx.y][threadIdx.x];
}
