// Fewer threads than a row has elements, in 128 strides; a fixed array for rows up to 1024.
#define MAX_N 1024
#define BS 64

__global__ void gpuRow(float *a, float *b, float *c, int n)
{
    __shared__ float line[MAX_N];
    const int r = blockIdx.x;
    for (int i = threadIdx.x; i < n; i += BS)
        line[i] = a[r * n + i];
    __syncthreads();
    for (int j = threadIdx.x; j < n; j += BS) {
        float x = 0;
        for (int k = 0; k < n; ++k)
            x += line[k] * b[k * n + j];
        c[r * n + j] = x;
    }
}

int main()
{
    int n = 1024;
    float *a, *b, *c;
    cudaMalloc(&a, n * n * 4);
    cudaMalloc(&b, n * n * 4);
    cudaMalloc(&c, n * n * 4);
    gpuRow<<<n, BS>>>(a, b, c, n);
    return 0;
}
