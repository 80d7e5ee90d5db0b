// Fewer threads than a column has elements, 32 of them; a dynamic array for the column.
__global__ void gpuCol(const float *a, const float *b, float *c, int n)
{
    extern __shared__ float col[];
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        col[i] = b[i * n + blockIdx.x];
    __syncthreads();
    int i = threadIdx.x;
    while (i < n) {
        float x = 0;
        for (int k = 0; k < n; ++k)
            x += a[i * n + k] * col[k];
        c[i * n + blockIdx.x] = x;
        i += blockDim.x;
    }
}

int main()
{
    int n = 1024;
    float *a, *b, *c;
    cudaMalloc(&a, n * n * 4);
    cudaMalloc(&b, n * n * 4);
    cudaMalloc(&c, n * n * 4);
    gpuCol<<<n, 32, n * sizeof(float)>>>(a, b, c, n);
    return 0;
}
