// A kernel for two axes, launched along one.
#include <cstdio>
#include <cstdlib>
#define SIDE 128

__global__ void flip(const float *from, float *to, int n)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (col < n && row < n) to[col * n + row] = from[row * n + col];
}

int main()
{
    float *h = (float *)calloc(SIDE * SIDE, sizeof(float)), *a, *b;
    cudaMalloc(&a, SIDE * SIDE * sizeof(float));
    cudaMalloc(&b, SIDE * SIDE * sizeof(float));
    for (int i = 0; i < SIDE * SIDE; i++) h[i] = i;
    cudaMemcpy(a, h, SIDE * SIDE * sizeof(float), cudaMemcpyHostToDevice);
    flip<<<(SIDE + 31) / 32, 32>>>(a, b, SIDE);
    cudaMemcpy(h, b, SIDE * SIDE * sizeof(float), cudaMemcpyDeviceToHost);
    printf("%g\n", h[1]);
    cudaFree(a);
    cudaFree(b);
    free(h);
}
