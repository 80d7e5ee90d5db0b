// Rows may be longer than the array that one is kept in.
#define LONGEST 256

__global__ void matmul_row(const float *a, const float *b, float *c, int n)
{
    __shared__ float t[LONGEST];
    for (int k = threadIdx.x; k < n; k += blockDim.x)
        t[k] = a[blockIdx.x * n + k];
    __syncthreads();
    for (int j = threadIdx.x; j < n; j += blockDim.x) {
        float sum = 0;
        for (int k = 0; k < n; ++k)
            sum += t[k] * b[k * n + j];
        c[blockIdx.x * n + j] = sum;
    }
}

int main()
{
    int n = 1024;
    float *a, *b, *c;
    cudaMalloc(&a, n * n * 4);
    cudaMalloc(&b, n * n * 4);
    cudaMalloc(&c, n * n * 4);
    matmul_row<<<n, 128>>>(a, b, c, n);
    return 0;
}
