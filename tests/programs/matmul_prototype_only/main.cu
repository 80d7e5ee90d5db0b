// main без ядра: само ядро лежит в файле, который не сдан
#include <stdio.h>
#include <stdlib.h>

__global__ void matrixMulGPU(const float* a, const float* b, float* c, int n);

int main(void)
{
    const int n = 64;
    float *a, *b, *c;
    cudaMalloc((void**)&a, n * n * sizeof(float));
    cudaMalloc((void**)&b, n * n * sizeof(float));
    cudaMalloc((void**)&c, n * n * sizeof(float));
    cudaMemset(a, 0, n * n * sizeof(float));
    cudaMemset(b, 0, n * n * sizeof(float));
    matrixMulGPU<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(a, b, c, n);
    printf("%s\n", cudaGetErrorString(cudaGetLastError()));
    cudaFree(a);
    cudaFree(b);
    cudaFree(c);
    return 0;
}
