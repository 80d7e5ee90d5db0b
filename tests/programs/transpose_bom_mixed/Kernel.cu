#include "cuda_runtime.h"
#include "device_launch_parameters.h"
#include <cstdio>

// Решение задачи №2: транспонирование (матрица хранится по строкам)
#define DIM 96
#define SIDE 24
using dtype = long long;

__global__ void Transpose_Naive(const dtype* Src, dtype* Dst, const int H, const int W)
{
    const int X = threadIdx.x + blockIdx.x * blockDim.x;
    const int Y = threadIdx.y + blockIdx.y * blockDim.y;
    if (X < W && Y < H) Dst[X * H + Y] = Src[Y * W + X];
}

int main()
{
    static dtype src[DIM][DIM], dst[DIM][DIM];
    for (int y = 0; y < DIM; ++y) for (int x = 0; x < DIM; ++x) src[y][x] = y * 1000LL + x;
    dtype *s, *d;
    cudaMalloc(&s, sizeof src);
    cudaMalloc(&d, sizeof dst);
    cudaMemcpy(s, src, sizeof src, cudaMemcpyHostToDevice);
    Transpose_Naive<<<dim3(DIM / SIDE, DIM / SIDE), dim3(SIDE, SIDE)>>>(s, d, DIM, DIM);
    const cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess) { printf("Ошибка: %s\n", cudaGetErrorString(error)); return 1; }
    cudaMemcpy(dst, d, sizeof dst, cudaMemcpyDeviceToHost);
    bool ok = true;
    for (int y = 0; y < DIM && ok; ++y) for (int x = 0; x < DIM && ok; ++x) ok = dst[x][y] == src[y][x];
    printf("Проверка: %s\n", ok ? "верно" : "неверно");
    cudaFree(s);
    cudaFree(d);
    return 0;
}
