// A block for every row of the input.
__global__ void transpose_rows(const float *a, float *b, short n, short m)
{
    for (short j = threadIdx.x; j < m; j += blockDim.x)
        b[j * n + blockIdx.x] = a[blockIdx.x * m + j];
}

int main()
{
    int n = 512, m = 256;
    float *a, *b;
    cudaMalloc(&a, n * m * 4);
    cudaMalloc(&b, n * m * 4);
    transpose_rows<<<n, 128>>>(a, b, n, m);
}
