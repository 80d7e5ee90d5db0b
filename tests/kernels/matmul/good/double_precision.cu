// In double precision, with size_t for the indices.
__global__ void matmul_simple(const double *a, const double *b, double *c, size_t n)
{
    const size_t col = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    const size_t row = (size_t)blockIdx.y * blockDim.y + threadIdx.y;
    if (col < n && row < n) {
        double sum = 0;
        for (size_t k = 0; k < n; ++k)
            sum += a[row * n + k] * b[k * n + col];
        c[row * n + col] = sum;
    }
}
