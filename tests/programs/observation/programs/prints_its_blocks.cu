// Beside the launch it prints what was launched: blocks, rows and, of an error, the line.
#include <cstdio>
#include <cstdlib>

__global__ void product(const float *a, const float *b, float *c, int n)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (col >= n || row >= n) return;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + col];
    c[row * n + col] = sum;
}

int main()
{
    const int n = 100, side = 16, blocks = (n + side - 1) / side;
    float *h = (float *)malloc(n * n * sizeof(float)), *a, *b, *c;
    for (int i = 0; i < n * n; i++) h[i] = i % 7;
    cudaMalloc(&a, n * n * sizeof(float));
    cudaMalloc(&b, n * n * sizeof(float));
    cudaMalloc(&c, n * n * sizeof(float));
    cudaMemcpy(a, h, n * n * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(b, h, n * n * sizeof(float), cudaMemcpyHostToDevice);
    product<<<dim3(blocks, blocks), dim3(side, side)>>>(a, b, c, n);
    cudaError_t error = cudaDeviceSynchronize();
    if (error != cudaSuccess) printf("error %s in line %d\n", cudaGetErrorString(error), __LINE__);
    printf("Number of Blocks: %d, Block: %dx%d, %d rows\n", blocks * blocks, side, side, n);
    cudaMemcpy(h, c, n * n * sizeof(float), cudaMemcpyDeviceToHost);
    printf("%g\n", h[0]);
    cudaFree(a);
    cudaFree(b);
    cudaFree(c);
    free(h);
}
