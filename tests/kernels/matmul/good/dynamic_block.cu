// Both tiles in one dynamic array; the side is the block's.
__global__ void matmul_block_shared(const float *A, const float *B, float *C, int n)
{
    extern __shared__ float mem[];
    const int s = blockDim.x;
    float *ta = mem, *tb = mem + s * s;
    const int x = threadIdx.x, y = threadIdx.y;
    const int col = blockIdx.x * s + x, row = blockIdx.y * s + y;
    float sum = 0;
    for (int m = 0; m < n; m += s) {
        ta[y * s + x] = row < n && m + x < n ? A[row * n + m + x] : 0.f;
        tb[y * s + x] = m + y < n && col < n ? B[(m + y) * n + col] : 0.f;
        __syncthreads();
        for (int k = 0; k < s; ++k)
            sum += ta[y * s + k] * tb[k * s + x];
        __syncthreads();
    }
    if (row < n && col < n)
        C[row * n + col] = sum;
}

int main()
{
    const int n = 1000, s = 16;
    float *a, *b, *c;
    cudaMalloc(&a, n * n * 4);
    cudaMalloc(&b, n * n * 4);
    cudaMalloc(&c, n * n * 4);
    dim3 block(s, s), grid((n + s - 1) / s, (n + s - 1) / s);
    matmul_block_shared<<<grid, block, 2 * s * s * sizeof(float)>>>(a, b, c, n);
    return 0;
}
