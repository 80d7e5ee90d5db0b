// Matrices by pointer, the size by #define; a row in a static array.
#define SIZE 512
#define THREADS 16

__global__ void simple_mul(float *a, float *b, float *c)
{
    int col = threadIdx.x + blockIdx.x * THREADS, row = threadIdx.y + blockIdx.y * THREADS;
    float acc = 0.f;
    for (int i = 0; i < SIZE; ++i)
        acc += a[row * SIZE + i] * b[i * SIZE + col];
    c[row * SIZE + col] = acc;
}

__global__ void row_mul(float *a, float *b, float *c)
{
    __shared__ float buffer[SIZE];
    for (int i = threadIdx.x; i < SIZE; i += blockDim.x)
        buffer[i] = a[blockIdx.x * SIZE + i];
    __syncthreads();
    for (int col = threadIdx.x; col < SIZE; col += blockDim.x) {
        float acc = 0.f;
        for (int i = 0; i < SIZE; ++i)
            acc += buffer[i] * b[i * SIZE + col];
        c[blockIdx.x * SIZE + col] = acc;
    }
}

int main()
{
    float *a, *b, *c;
    cudaMalloc(&a, SIZE * SIZE * sizeof(float));
    cudaMalloc(&b, SIZE * SIZE * sizeof(float));
    cudaMalloc(&c, SIZE * SIZE * sizeof(float));
    simple_mul<<<dim3(SIZE / THREADS, SIZE / THREADS), dim3(THREADS, THREADS)>>>(a, b, c);
    row_mul<<<SIZE, 128>>>(a, b, c);
    return cudaDeviceSynchronize();
}
