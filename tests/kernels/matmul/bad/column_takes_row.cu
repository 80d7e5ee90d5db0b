// The kernel for columns buffers a row of B.
__global__ void matmul_column(const float *a, const float *b, float *c, int n)
{
    extern __shared__ float t[];
    for (int k = threadIdx.x; k < n; k += blockDim.x)
        t[k] = b[blockIdx.x * n + k];
    __syncthreads();
    for (int row = threadIdx.x; row < n; row += blockDim.x) {
        float sum = 0;
        for (int k = 0; k < n; ++k)
            sum += a[row * n + k] * t[k];
        c[row * n + blockIdx.x] = sum;
    }
}
