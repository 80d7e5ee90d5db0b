// The row is used at once.
__global__ void matmul_row(const float *a, const float *b, float *c, int n)
{
    extern __shared__ float t[];
    for (int k = threadIdx.x; k < n; k += blockDim.x)
        t[k] = a[blockIdx.x * n + k];
    for (int col = threadIdx.x; col < n; col += blockDim.x) {
        float sum = 0;
        for (int k = 0; k < n; ++k)
            sum += t[k] * b[k * n + col];
        c[blockIdx.x * n + col] = sum;
    }
}
