// Called naive, but uses shared memory.
__global__ void matmul_naive(const float *a, const float *b, float *c, int n)
{
    __shared__ float row_of_a[16][17];
    int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    float sum = 0;
    for (int m = 0; m < n; m += 16) {
        row_of_a[threadIdx.y][threadIdx.x] = row < n && m + threadIdx.x < n ? a[row * n + m + threadIdx.x] : 0;
        __syncthreads();
        for (int k = 0; k < 16; ++k)
            if (m + k < n && col < n)
                sum += row_of_a[threadIdx.y][k] * b[(m + k) * n + col];
        __syncthreads();
    }
    if (col < n && row < n)
        c[row * n + col] = sum;
}
