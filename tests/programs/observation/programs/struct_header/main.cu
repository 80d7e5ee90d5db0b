#include <cstdio>
#include <cstdlib>
#include "matrix.h"

void MatMul(const Matrix A, const Matrix B, Matrix C)
{
    Matrix dA = A, dB = B, dC = C;
    size_t bytes = A.width * A.height * sizeof(float);
    cudaMalloc(&dA.elements, bytes);
    cudaMalloc(&dB.elements, bytes);
    cudaMalloc(&dC.elements, bytes);
    cudaMemcpy(dA.elements, A.elements, bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(dB.elements, B.elements, bytes, cudaMemcpyHostToDevice);
    dim3 dimBlock(BLOCK_SIZE, BLOCK_SIZE);
    dim3 dimGrid((B.width + dimBlock.x - 1) / dimBlock.x, (A.height + dimBlock.y - 1) / dimBlock.y);
    MatMulKernel<<<dimGrid, dimBlock>>>(dA, dB, dC);
    cudaMemcpy(C.elements, dC.elements, bytes, cudaMemcpyDeviceToHost);
    cudaFree(dA.elements);
    cudaFree(dB.elements);
    cudaFree(dC.elements);
}

__global__ void MatMulKernel(Matrix A, Matrix B, Matrix C)
{
    float value = 0;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= A.height || col >= B.width) return;
    for (int e = 0; e < A.width; ++e)
        value += A.elements[row * A.width + e] * B.elements[e * B.width + col];
    C.elements[row * C.width + col] = value;
}

int main()
{
    Matrix a, b, c;
    a.width = a.height = b.width = b.height = c.width = c.height = 128;
    size_t bytes = 128 * 128 * sizeof(float);
    a.elements = (float *)malloc(bytes);
    b.elements = (float *)malloc(bytes);
    c.elements = (float *)malloc(bytes);
    for (int i = 0; i < 128 * 128; ++i) { a.elements[i] = i % 5; b.elements[i] = i % 3; }
    MatMul(a, b, c);
    printf("%f\n", c.elements[7]);
    return 0;
}
