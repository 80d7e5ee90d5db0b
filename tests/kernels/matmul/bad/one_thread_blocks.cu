// A block of one thread for every element.
__global__ void matmul_naive(const float *a, const float *b, float *c, int n)
{
    const int col = blockIdx.x, row = blockIdx.y;
    float sum = 0;
    for (int k = 0; k < n; ++k)
        sum += a[row * n + k] * b[k * n + col];
    c[row * n + col] = sum;
}

int main()
{
    const int n = 256;
    float *a, *b, *c;
    cudaMalloc(&a, n * n * 4);
    cudaMalloc(&b, n * n * 4);
    cudaMalloc(&c, n * n * 4);
    matmul_naive<<<dim3(n, n), 1>>>(a, b, c, n);
    return cudaDeviceSynchronize();
}
