// One thread of a block fills the column for all.
__global__ void matmul_column(const float *a, const float *b, float *c, int n)
{
    extern __shared__ float t[];
    if (threadIdx.x == 0)
        for (int k = 0; k < n; ++k)
            t[k] = b[k * n + blockIdx.x];
    __syncthreads();
    for (int row = threadIdx.x; row < n; row += blockDim.x) {
        float sum = 0;
        for (int k = 0; k < n; ++k)
            sum += a[row * n + k] * t[k];
        c[row * n + blockIdx.x] = sum;
    }
}
