// The column is loaded in steps of twice the block: every other stretch stays unset.
__global__ void matmul_column(const float *a, const float *b, float *c, int n)
{
    extern __shared__ float t[];
    for (int k = threadIdx.x; k < n; k += 2 * blockDim.x)
        t[k] = b[k * n + blockIdx.x];
    __syncthreads();
    for (int row = threadIdx.x; row < n; row += blockDim.x) {
        float sum = 0;
        for (int k = 0; k < n; ++k)
            sum += a[row * n + k] * t[k];
        c[row * n + blockIdx.x] = sum;
    }
}

int main()
{
    int n = 1024;
    float *a, *b, *c;
    cudaMalloc(&a, n * n * 4);
    cudaMalloc(&b, n * n * 4);
    cudaMalloc(&c, n * n * 4);
    matmul_column<<<n, 32, n * sizeof(float)>>>(a, b, c, n);
    return 0;
}
