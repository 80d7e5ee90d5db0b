// Indices hidden in macros; output first, columns before rows.
#define BDIM 32
#define X (blockIdx.x * BDIM + threadIdx.x)
#define Y (blockIdx.y * BDIM + threadIdx.y)
#define AT(m, r, c, pitch) ((m)[(r) * (pitch) + (c)])
#define INSIDE(r, c, nr, nc) ((r) < (nr) && (c) < (nc))

__global__ void simpleTranspose(float *out, const float *in, int cols, int rows)
{
    if (INSIDE(Y, X, rows, cols))
        AT(out, X, Y, rows) = AT(in, Y, X, cols);
}

__global__ void paddedTranspose(float *out, const float *in, int cols, int rows)
{
    __shared__ float t[BDIM][BDIM + 1];
    if (INSIDE(Y, X, rows, cols))
        t[threadIdx.y][threadIdx.x] = AT(in, Y, X, cols);
    __syncthreads();
    const int c = blockIdx.y * BDIM + threadIdx.x, r = blockIdx.x * BDIM + threadIdx.y;
    if (INSIDE(r, c, cols, rows))
        AT(out, r, c, rows) = t[threadIdx.x][threadIdx.y];
}

int main()
{
    float *a, *b;
    cudaMalloc(&a, 4 << 20);
    cudaMalloc(&b, 4 << 20);
    simpleTranspose<<<dim3(32, 32), dim3(BDIM, BDIM)>>>(b, a, 1024, 1024);
    paddedTranspose<<<dim3(32, 32), dim3(BDIM, BDIM)>>>(b, a, 1024, 1024);
    return 0;
}
