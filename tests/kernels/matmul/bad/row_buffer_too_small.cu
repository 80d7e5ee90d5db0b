// Room for 64 elements, whatever n is.
__global__ void matmul_row(const float *a, const float *b, float *c, int n)
{
    __shared__ float t[64];
    for (int k = threadIdx.x; k < n; k += blockDim.x)
        t[k] = a[blockIdx.x * n + k];
    __syncthreads();
    for (int col = threadIdx.x; col < n; col += blockDim.x) {
        float sum = 0;
        for (int k = 0; k < n; ++k)
            sum += t[k] * b[k * n + col];
        c[blockIdx.x * n + col] = sum;
    }
}
