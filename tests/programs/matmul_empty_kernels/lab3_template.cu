#include <stdio.h>
#include <stdlib.h>
#define N 128
#define BLOCK 16

// TODO: реализовать
__global__ void mulNaive(float *a, float *b, float *c, int n)
{
}

// TODO: реализовать с разделяемой памятью
__global__ void mulBlock(float *a, float *b, float *c, int n)
{
    // your code here
}

int main()
{
    float *h = (float *)malloc(N * N * sizeof(float)), *a, *b, *c;
    for (int i = 0; i < N * N; i++) h[i] = 1;
    cudaMalloc((void **)&a, N * N * sizeof(float));
    cudaMalloc((void **)&b, N * N * sizeof(float));
    cudaMalloc((void **)&c, N * N * sizeof(float));
    cudaMemcpy(a, h, N * N * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(b, h, N * N * sizeof(float), cudaMemcpyHostToDevice);
    mulNaive<<<dim3(N / BLOCK, N / BLOCK), dim3(BLOCK, BLOCK)>>>(a, b, c, N);
    cudaDeviceSynchronize();
    cudaMemcpy(h, c, N * N * sizeof(float), cudaMemcpyDeviceToHost);
    printf("%f\n", h[0]);
    return 0;
}
