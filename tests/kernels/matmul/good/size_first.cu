// The size first and unsigned; one-dimensional blocks and a division for the index.
__global__ void naive(unsigned n, const float *left, const float *right, float *product)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n * n)
        return;
    const unsigned row = i / n, col = i % n;
    float sum = 0;
    for (unsigned k = 0; k < n; ++k)
        sum = fmaf(left[row * n + k], right[k * n + col], sum);
    product[i] = sum;
}

int main()
{
    unsigned n = 300;
    float *a, *b, *c;
    cudaMalloc(&a, n * n * 4);
    cudaMalloc(&b, n * n * 4);
    cudaMalloc(&c, n * n * 4);
    naive<<<(n * n + 255) / 256, 256>>>(n, a, b, c);
    return cudaDeviceSynchronize();
}
