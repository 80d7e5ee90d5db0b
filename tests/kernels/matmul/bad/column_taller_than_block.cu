// The column of B is loaded in a loop; that the column of C has more rows than the block has threads is forgotten.
#define THREADS 128
#define MAX_N 1024

__global__ void matmul_column(const float *a, const float *b, float *c, int n)
{
    __shared__ float t[MAX_N];
    for (int k = threadIdx.x; k < n; k += THREADS)
        t[k] = b[k * n + blockIdx.x];
    __syncthreads();
    int i = threadIdx.x;
    if (i >= n)
        return;
    float sum = 0;
    for (int k = 0; k < n; ++k)
        sum += a[i * n + k] * t[k];
    c[i * n + blockIdx.x] = sum;
}

int main()
{
    int n = 1024;
    float *a, *b, *c;
    cudaMalloc(&a, n * n * 4);
    cudaMalloc(&b, n * n * 4);
    cudaMalloc(&c, n * n * 4);
    matmul_column<<<n, THREADS>>>(a, b, c, n);
    return 0;
}
