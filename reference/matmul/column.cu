// One block, one column of C.  Neighbouring threads read neighbouring rows of A: nothing here is coalesced.
__global__ void matmul_column(const float *a, const float *b, float *c, int n)
{
    extern __shared__ float column_of_b[]; // n elements

    const int col = blockIdx.x;
    for (int k = threadIdx.x; k < n; k += blockDim.x)
        column_of_b[k] = b[k * n + col];
    __syncthreads();

    for (int row = threadIdx.x; row < n; row += blockDim.x) {
        float sum = 0;
        for (int k = 0; k < n; ++k)
            sum += a[row * n + k] * column_of_b[k];
        c[row * n + col] = sum;
    }
}
