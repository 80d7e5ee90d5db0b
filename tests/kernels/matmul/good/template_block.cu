// The side of a tile as a template argument; result first, then the factors.
template <int BLOCK_SIZE>
__global__ void matrixMulTiled(float *C, const float *A, const float *B, int wA, int wB)
{
    __shared__ float As[BLOCK_SIZE][BLOCK_SIZE];
    __shared__ float Bs[BLOCK_SIZE][BLOCK_SIZE];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * BLOCK_SIZE + ty, col = blockIdx.x * BLOCK_SIZE + tx;
    float Csub = 0;
    for (int t = 0; t < (wA + BLOCK_SIZE - 1) / BLOCK_SIZE; ++t) {
        const int ka = t * BLOCK_SIZE + tx, kb = t * BLOCK_SIZE + ty;
        As[ty][tx] = (row < wA && ka < wA) ? A[row * wA + ka] : 0;
        Bs[ty][tx] = (kb < wA && col < wB) ? B[kb * wB + col] : 0;
        __syncthreads();
        for (int k = 0; k < BLOCK_SIZE; ++k)
            Csub += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }
    if (row < wA && col < wB)
        C[row * wB + col] = Csub;
}

int main()
{
    int n = 640;
    float *a, *b, *c;
    cudaMalloc(&a, n * n * 4);
    cudaMalloc(&b, n * n * 4);
    cudaMalloc(&c, n * n * 4);
    dim3 threads(32, 32), grid((n + 31) / 32, (n + 31) / 32);
    matrixMulTiled<32><<<grid, threads>>>(c, a, b, n, n);
    return 0;
}
