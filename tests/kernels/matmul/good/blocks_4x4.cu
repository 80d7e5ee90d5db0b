// Blocks of sixteen threads: half a warp each, and all of it at work.
#define S 4
__global__ void matmul_naive(const float *a, const float *b, float *c, int n)
{
    const int col = blockIdx.x * S + threadIdx.x, row = blockIdx.y * S + threadIdx.y;
    if (col >= n || row >= n)
        return;
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
    matmul_naive<<<dim3((n + S - 1) / S, (n + S - 1) / S), dim3(S, S)>>>(a, b, c, n);
    return cudaDeviceSynchronize();
}
