// One block, one row of C.  The row of A is read once and then shared; n may be larger than the block.
__global__ void matmul_row(const float *a, const float *b, float *c, int n)
{
    extern __shared__ float row_of_a[]; // n elements

    const int row = blockIdx.x;
    for (int k = threadIdx.x; k < n; k += blockDim.x)
        row_of_a[k] = a[row * n + k];
    __syncthreads();

    for (int col = threadIdx.x; col < n; col += blockDim.x) {
        float sum = 0;
        for (int k = 0; k < n; ++k)
            sum += row_of_a[k] * b[k * n + col];
        c[row * n + col] = sum;
    }
}
