// The sum is overwritten in every step: only the last product is left.
__global__ void matmul_naive(const float *a, const float *b, float *c, int n)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (col < n && row < n) {
        float sum = 0;
        for (int k = 0; k < n; ++k)
            sum = a[row * n + k] * b[k * n + col];
        c[row * n + col] = sum;
    }
}
