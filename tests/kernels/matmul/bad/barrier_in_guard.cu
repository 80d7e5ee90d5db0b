// Threads that need not load skip the barrier with it.
__global__ void matmul_block(const float *a, const float *b, float *c, int n)
{
    __shared__ float ta[16][16], tb[16][16];
    int x = threadIdx.x, y = threadIdx.y, col = blockIdx.x * 16 + x, row = blockIdx.y * 16 + y;
    float sum = 0;
    for (int m = 0; m < n; m += 16) {
        ta[y][x] = 0;
        tb[y][x] = 0;
        if (row < n && m + x < n)
            ta[y][x] = a[row * n + m + x];
        if (m + y < n && col < n)
            tb[y][x] = b[(m + y) * n + col];
        if (x < 8)
            __syncthreads();
        for (int k = 0; k < 16; ++k)
            sum += ta[y][k] * tb[k][x];
        __syncthreads();
    }
    if (row < n && col < n)
        c[row * n + col] = sum;
}
