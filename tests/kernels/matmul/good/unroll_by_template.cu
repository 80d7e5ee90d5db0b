// Unrolled by a template argument, the rest in a loop of its own.
template <int U>
__global__ void unrolled(const float *a, const float *b, float *c, int n)
{
    const int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (col >= n || row >= n)
        return;
    float sum = 0;
    int k = 0;
    for (; k + U <= n; k += U)
#pragma unroll
        for (int u = 0; u < U; ++u)
            sum += a[row * n + k + u] * b[(k + u) * n + col];
    for (; k < n; ++k)
        sum += a[row * n + k] * b[k * n + col];
    c[row * n + col] = sum;
}

int main()
{
    int n = 512;
    float *a, *b, *c;
    cudaMalloc(&a, n * n * 4);
    cudaMalloc(&b, n * n * 4);
    cudaMalloc(&c, n * n * 4);
    unrolled<8><<<dim3((n + 15) / 16, (n + 15) / 16), dim3(16, 16)>>>(a, b, c, n);
    return 0;
}
