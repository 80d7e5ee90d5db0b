// Adds to C, which nobody has set to zero.
__global__ void matmul_naive(const float *a, const float *b, float *c, int n)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (col < n && row < n)
        for (int k = 0; k < n; ++k)
            c[row * n + col] += a[row * n + k] * b[k * n + col];
}
