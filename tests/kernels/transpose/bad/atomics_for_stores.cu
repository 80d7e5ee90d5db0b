// Values change hands within the tile and leave it in columns, by operations that are no plain stores.
__global__ void transpose_shared(const float *in, float *out, int rows, int cols)
{
    __shared__ float tile[32][32];
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
    if (r < rows && c < cols)
        tile[threadIdx.y][threadIdx.x] = in[r * cols + c];
    __syncthreads();
    r = blockIdx.y * 32 + (31 - threadIdx.y);
    if (r < rows && c < cols)
        atomicExch(&out[c * rows + r], tile[31 - threadIdx.y][threadIdx.x]);
}
