// The tile is filled and read across threads, but what comes of it is stored nowhere that matters.
__global__ void transpose_shared(const float *in, float *out, int rows, int cols)
{
    __shared__ float tile[32][32];
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
    const float own = r < rows && c < cols ? in[r * cols + c] : 0;
    tile[threadIdx.y][threadIdx.x] = own;
    __syncthreads();
    const float other = tile[threadIdx.x][threadIdx.y];
    if (other == -1e30f)
        out[0] = other;
    if (r < rows && c < cols)
        out[c * rows + r] = own;
}
