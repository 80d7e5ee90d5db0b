// The row is buffered, and then read from global memory all the same.
__global__ void matmul_row(const float *a, const float *b, float *c, int n)
{
    extern __shared__ volatile float t[];
    for (int k = threadIdx.x; k < n; k += blockDim.x)
        t[k] = a[blockIdx.x * n + k];
    __syncthreads();
    for (int col = threadIdx.x; col < n; col += blockDim.x) {
        float sum = 0;
        for (int k = 0; k < n; ++k)
            sum += a[blockIdx.x * n + k] * b[k * n + col];
        c[blockIdx.x * n + col] = sum + 0 * t[col];
    }
}
