// Волкова Я. - транспонирование, плитка 16 на 16
#include <stdio.h>
#include <stdlib.h>

#define S 16

// Явно без разделяемой памяти
__global__ void MatrixTransposeGlobal(float *A, float *At, int h, int w)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < h && col < w)
        At[col * h + row] = A[row * w + col];
}

// Плитка без выравнивания
__global__ void MatrixTransposeShared(float *A, float *At, int h, int w)
{
    __shared__ float buf[S][S];
    int row = blockIdx.y * S + threadIdx.y;
    int col = blockIdx.x * S + threadIdx.x;
    if (row < h && col < w)
        buf[threadIdx.y][threadIdx.x] = A[row * w + col];
    __syncthreads();
    row = blockIdx.x * S + threadIdx.y;
    col = blockIdx.y * S + threadIdx.x;
    if (row < w && col < h)
        At[row * h + col] = buf[threadIdx.x][threadIdx.y];
}

// Плитка с дополнительным столбцом: конфликтов больше нет (?)
__global__ void MatrixTransposePad(float *A, float *At, int h, int w)
{
    __shared__ float buf[S][S + 1];
    int row = blockIdx.y * S + threadIdx.y;
    int col = blockIdx.x * S + threadIdx.x;
    if (row < h && col < w)
        buf[threadIdx.y][threadIdx.x] = A[row * w + col];
    __syncthreads();
    row = blockIdx.x * S + threadIdx.y;
    col = blockIdx.y * S + threadIdx.x;
    if (row < w && col < h)
        At[row * h + col] = buf[threadIdx.x][threadIdx.y];
}

int main()
{
    int h = 1 << 11, w = 1 << 10;
    float *A, *At, *hA = (float *)malloc(h * w * sizeof(float));
    for (int i = 0; i < h * w; i++)
        hA[i] = rand();
    cudaMalloc(&A, h * w * sizeof(float));
    cudaMalloc(&At, h * w * sizeof(float));
    cudaMemcpy(A, hA, h * w * sizeof(float), cudaMemcpyHostToDevice);
    dim3 block = dim3(S, S);
    dim3 grid = dim3((w + block.x - 1) / block.x, (h + block.y - 1) / block.y);
    MatrixTransposeGlobal<<<grid, block>>>(A, At, h, w);
    MatrixTransposeShared<<<grid, block>>>(A, At, h, w);
    MatrixTransposePad<<<grid, block>>>(A, At, h, w);
    cudaDeviceSynchronize();
    printf("готово: %s\n", cudaGetErrorString(cudaGetLastError()));
    cudaFree(A);
    cudaFree(At);
    free(hA);
    return 0;
}
