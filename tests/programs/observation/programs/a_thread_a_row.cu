// One thread copies a whole row into a column; the grid covers the rows alone.
#include <cstdio>
#include <cstdlib>

__global__ void rowToColumn(const float *from, float *to, int n)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < n)
        for (int k = 0; k < n; k++) to[k * n + row] = from[row * n + k];
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1000, threads = 128, blocks = n / threads;
    if (n % threads > 0) blocks++;
    float *h = (float *)calloc(n * n, sizeof(float)), *a, *b;
    for (int i = 0; i < n * n; i++) h[i] = i % 91;
    cudaMalloc(&a, n * n * sizeof(float));
    cudaMalloc(&b, n * n * sizeof(float));
    cudaMemcpy(a, h, n * n * sizeof(float), cudaMemcpyHostToDevice);
    rowToColumn<<<blocks, threads>>>(a, b, n);
    cudaMemcpy(h, b, n * n * sizeof(float), cudaMemcpyDeviceToHost);
    printf("%g\n", h[1]);
    cudaFree(a);
    cudaFree(b);
    free(h);
}
