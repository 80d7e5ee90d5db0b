// No barrier: the atomic and the fence that might order the threads are never reached.
__global__ void transpose_shared(const float *in, float *out, int rows, int cols)
{
    __shared__ float tile[32][32];
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
    if (r < rows && c < cols)
        tile[threadIdx.y][threadIdx.x] = in[r * cols + c];
    if (rows < 0) {
        atomicAdd((int *)&tile[0][0], 1);
        __threadfence();
    }
    c = blockIdx.y * 32 + threadIdx.x;
    r = blockIdx.x * 32 + threadIdx.y;
    if (r < cols && c < rows)
        out[r * rows + c] = tile[threadIdx.x][threadIdx.y];
}
