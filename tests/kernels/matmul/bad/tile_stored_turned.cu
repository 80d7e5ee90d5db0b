// Right, but the tile of B is kept transposed: lanes of a warp meet in one bank.
__global__ void matmul_block(const float *a, const float *b, float *c, int n)
{
    __shared__ float ta[32][32], tb[32][32];
    int x = threadIdx.x, y = threadIdx.y, col = blockIdx.x * 32 + x, row = blockIdx.y * 32 + y;
    float sum = 0;
    for (int m = 0; m < n; m += 32) {
        ta[y][x] = row < n && m + x < n ? a[row * n + m + x] : 0;
        tb[x][y] = m + y < n && col < n ? b[(m + y) * n + col] : 0;
        __syncthreads();
        for (int k = 0; k < 32; ++k)
            sum += ta[y][k] * tb[x][k];
        __syncthreads();
    }
    if (row < n && col < n)
        c[row * n + col] = sum;
}
