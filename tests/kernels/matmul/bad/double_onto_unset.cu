// Doubles: what a C that nobody has set holds is lost in the rounding, unless it is no number.
__global__ void matmul_naive(const double *a, const double *b, double *c, int n)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (col >= n || row >= n)
        return;
    double sum = 0;
    for (int k = 0; k < n; ++k)
        sum += a[row * n + k] * b[k * n + col];
    c[row * n + col] += sum;
}
