// The lanes take turns at what matters; harmless requests of whole warps are to make up for it.
__global__ void transpose_padded(const float *in, float *out, int rows, int cols)
{
    __shared__ volatile float tile[32][32];
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
    if (r < rows && c < cols)
        tile[threadIdx.y][threadIdx.x] = in[r * cols + c];
    __syncthreads();
    c = blockIdx.y * 32 + threadIdx.x;
    r = blockIdx.x * 32 + threadIdx.y;
    float value = 0;
#pragma unroll 1
    for (int l = 0; l < 64; ++l) {
        const bool mine = threadIdx.x == l;
        if (mine || l >= 32) {
            const float got = tile[mine ? threadIdx.x : threadIdx.y][mine ? threadIdx.y : threadIdx.x];
            value = mine ? got : value;
        }
        __syncwarp();
    }
    if (r < cols && c < rows)
        out[r * rows + c] = value;
}
