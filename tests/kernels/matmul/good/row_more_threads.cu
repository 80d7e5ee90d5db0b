// A block of 512 threads, more than most rows need; the size is fixed when the program is compiled.
#define N 1024

__global__ void rowKernel(const float *a, const float *b, float *c)
{
    __shared__ float row[N];
    for (int k = threadIdx.x; k < N; k += 512)
        row[k] = a[blockIdx.x * N + k];
    __syncthreads();
    for (int j = threadIdx.x; j < N; j += 512) {
        float sum = 0;
        for (int k = 0; k < N; ++k)
            sum += row[k] * b[k * N + j];
        c[blockIdx.x * N + j] = sum;
    }
}

int main()
{
    float *a, *b, *c;
    cudaMalloc(&a, N * N * sizeof(float));
    cudaMalloc(&b, N * N * sizeof(float));
    cudaMalloc(&c, N * N * sizeof(float));
    rowKernel<<<N, 512>>>(a, b, c);
    return 0;
}
