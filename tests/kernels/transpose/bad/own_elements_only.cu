// Every thread puts an element into the tile and reads the same one back.
__global__ void transpose_shared(const float *in, float *out, int rows, int cols)
{
    __shared__ volatile float tile[32][32];
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
    if (r < rows && c < cols)
        tile[threadIdx.y][threadIdx.x] = in[r * cols + c];
    __syncthreads();
    if (r < rows && c < cols)
        out[c * rows + r] = tile[threadIdx.y][threadIdx.x];
}
