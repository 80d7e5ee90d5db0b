// One of the four steps is written twice, another one not at all.
__global__ void matmul_unrolled(const float *a, const float *b, float *c, int n)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (col < n && row < n) {
        float sum = 0;
        int k = 0;
        for (; k + 3 < n; k += 4) {
            sum += a[row * n + k] * b[k * n + col];
            sum += a[row * n + k + 1] * b[(k + 1) * n + col];
            sum += a[row * n + k + 1] * b[(k + 1) * n + col];
            sum += a[row * n + k + 3] * b[(k + 3) * n + col];
        }
        for (; k < n; ++k)
            sum += a[row * n + k] * b[k * n + col];
        c[row * n + col] = sum;
    }
}
