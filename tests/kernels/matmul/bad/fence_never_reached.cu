// No barrier at all: a strong access and a fence, which might order the threads, are never reached.
__global__ void matmul_block(const float *a, const float *b, float *c, int n)
{
    __shared__ float ta[16][16], tb[16][16];
    int x = threadIdx.x, y = threadIdx.y, col = blockIdx.x * 16 + x, row = blockIdx.y * 16 + y;
    float sum = 0;
    for (int m = 0; m < n; m += 16) {
        ta[y][x] = row < n && m + x < n ? a[row * n + m + x] : 0;
        tb[y][x] = m + y < n && col < n ? b[(m + y) * n + col] : 0;
        if (n < 0) {
            *(volatile float *)&ta[0][0] = 0;
            __threadfence_block();
        }
        for (int k = 0; k < 16; ++k)
            sum += ta[y][k] * tb[k][x];
    }
    if (row < n && col < n)
        c[row * n + col] = sum;
}
