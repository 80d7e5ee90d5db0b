// The lanes of a warp take turns, so that no two meet in a bank.
__global__ void transpose_padded(const float *in, float *out, int rows, int cols)
{
    __shared__ float tile[32][32];
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
    if (r < rows && c < cols)
        tile[threadIdx.y][threadIdx.x] = in[r * cols + c];
    __syncthreads();
    c = blockIdx.y * 32 + threadIdx.x;
    r = blockIdx.x * 32 + threadIdx.y;
    float value = 0;
#pragma unroll 1
    for (int l = 0; l < 32; ++l) {
        if (threadIdx.x == l)
            value = ((volatile float *)tile[threadIdx.x])[threadIdx.y];
        __syncwarp();
    }
    if (r < cols && c < rows)
        out[r * rows + c] = value;
}
