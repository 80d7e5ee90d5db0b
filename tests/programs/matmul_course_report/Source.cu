// Лабораторная работа №3. Оптимизация доступа к глобальной памяти.
// Умножение квадратных матриц, размер и блок заданы константами (вариант 7: N = 64, S = 16).
#include "cuda_runtime.h"
#include "device_launch_parameters.h"
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <time.h>

#define N 64
#define S 16

float hA[N][N], hB[N][N], hC[N][N], hR[N][N];

__device__ float A[N][N];
__device__ float B[N][N];
__device__ float C[N][N];

//----------------------------------------------------------------------
// 1. Простейший алгоритм
//----------------------------------------------------------------------
__global__ void MatrMulKernel()
{
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < N; k++)
        sum += A[i][k] * B[k][j];
    C[i][j] = sum;
}

//----------------------------------------------------------------------
// 2. Буферизация строки матрицы A
//----------------------------------------------------------------------
__global__ void MatrMulRowKernel()
{
    __shared__ float row[N];
    int i = blockIdx.x;
    int j = threadIdx.x;
    row[j] = A[i][j];
    __syncthreads();
    float sum = 0.0f;
    for (int k = 0; k < N; k++)
        sum += row[k] * B[k][j];
    C[i][j] = sum;
}

//----------------------------------------------------------------------
// 3. Буферизация столбца матрицы B
//----------------------------------------------------------------------
__global__ void MatrMulColKernel()
{
    __shared__ float col[N];
    int j = blockIdx.x;
    int i = threadIdx.x;
    col[i] = B[i][j];
    __syncthreads();
    float sum = 0.0f;
    for (int k = 0; k < N; k++)
        sum += A[i][k] * col[k];
    C[i][j] = sum;
}

//----------------------------------------------------------------------
// 4. Блочный алгоритм
//----------------------------------------------------------------------
__global__ void MatrMulBlockKernel()
{
    __shared__ float a[S][S];
    __shared__ float b[S][S];
    int ty = threadIdx.y, tx = threadIdx.x;
    int i = blockIdx.y * S + ty;
    int j = blockIdx.x * S + tx;
    float sum = 0.0f;
    for (int m = 0; m < N / S; m++)
    {
        a[ty][tx] = A[i][m * S + tx];
        b[ty][tx] = B[m * S + ty][j];
        __syncthreads();
        for (int k = 0; k < S; k++)
            sum += a[ty][k] * b[k][tx];
        __syncthreads();
    }
    C[i][j] = sum;
}

//----------------------------------------------------------------------
// 5. Блочный алгоритм с раскруткой цикла в 4 раза
//----------------------------------------------------------------------
__global__ void MatrMulBlockUnrollKernel()
{
    __shared__ float a[S][S];
    __shared__ float b[S][S];
    int ty = threadIdx.y, tx = threadIdx.x;
    int i = blockIdx.y * S + ty;
    int j = blockIdx.x * S + tx;
    float sum = 0.0f;
    for (int m = 0; m < N / S; m++)
    {
        a[ty][tx] = A[i][m * S + tx];
        b[ty][tx] = B[m * S + ty][j];
        __syncthreads();
#pragma unroll 1
        for (int k = 0; k < S; k += 4)
        {
            sum += a[ty][k] * b[k][tx];
            sum += a[ty][k + 1] * b[k + 1][tx];
            sum += a[ty][k + 2] * b[k + 2][tx];
            sum += a[ty][k + 3] * b[k + 3][tx];
        }
        __syncthreads();
    }
    C[i][j] = sum;
}

void MatrMulCPU()
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
        {
            hR[i][j] = 0;
            for (int k = 0; k < N; k++)
                hR[i][j] += hA[i][k] * hB[k][j];
        }
}

int Compare()
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            if (fabs(hR[i][j] - hC[i][j]) > 1e-3 * fabs(hR[i][j]) + 1e-5)
                return 0;
    return 1;
}

void CheckError(const char *where)
{
    cudaError_t err = cudaGetLastError();
    if (err != cudaSuccess)
    {
        printf("%s: %s\n", where, cudaGetErrorString(err));
        exit(1);
    }
}

enum Algo { SIMPLE, ROW, COLUMN, BLOCK, UNROLL, COUNT };
const char *names[COUNT] = { "Простой", "Строка A", "Столбец B", "Блоки", "Раскрутка" };

int main()
{
    srand(1);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
        {
            hA[i][j] = (float)(rand() % 10);
            hB[i][j] = (float)(rand() % 10);
        }

    clock_t t0 = clock();
    MatrMulCPU();
    float cpuTime = 1000.0f * (clock() - t0) / CLOCKS_PER_SEC;
    if (cpuTime < 0) return 2;

    cudaMemcpyToSymbol(A, hA, sizeof(hA));
    CheckError("A");
    cudaMemcpyToSymbol(B, hB, sizeof(hB));
    CheckError("B");

    cudaEvent_t start, stop;
    cudaEventCreate(&start);
    cudaEventCreate(&stop);

    printf("N = %d, S = %d\n", N, S);
    for (int alg = SIMPLE; alg < COUNT; alg++)
    {
        memset(hC, 0, sizeof(hC));
        cudaMemcpyToSymbol(C, hC, sizeof(hC));
        cudaEventRecord(start, 0);
        switch (alg)
        {
        case SIMPLE:
            MatrMulKernel<<<dim3(N / S, N / S), dim3(S, S)>>>();
            break;
        case ROW:
            MatrMulRowKernel<<<N, N>>>();
            break;
        case COLUMN:
            MatrMulColKernel<<<N, N>>>();
            break;
        case BLOCK:
            MatrMulBlockKernel<<<dim3(N / S, N / S), dim3(S, S)>>>();
            break;
        case UNROLL:
            MatrMulBlockUnrollKernel<<<dim3(N / S, N / S), dim3(S, S)>>>();
            break;
        }
        CheckError(names[alg]);
        cudaEventRecord(stop, 0);
        cudaEventSynchronize(stop);
        float ms;
        cudaEventElapsedTime(&ms, start, stop);
        cudaMemcpyFromSymbol(hC, C, sizeof(hC));
        CheckError("C");
        printf("%s: %s\n", names[alg], Compare() ? "совпадает с CPU" : "ОШИБКА");
        double P = 2.0 * N * N * N / (ms * 1e-3);
        if (P <= 0) printf("?\n");
    }

    cudaEventDestroy(start);
    cudaEventDestroy(stop);
    return 0;
}
