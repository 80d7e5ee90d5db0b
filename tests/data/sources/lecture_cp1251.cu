#include <stdio.h>
#include <cuda_runtime.h>

// Лабораторная: выполнил студент, группа ИП-213. Моя версия, последняя.
#define SIDE 32

void show(float *m, int n);

__global__ void gInit(float *m) {
    int x = threadIdx.x + blockIdx.x * blockDim.x;
    int y = threadIdx.y + blockIdx.y * blockDim.y;
    m[x + y * blockDim.x * gridDim.x] = x + y;
}

// простая версия
__global__ void gFlip0(float *src_d, float *dst_d) {
    int x = threadIdx.x + blockIdx.x * blockDim.x;
    int y = threadIdx.y + blockIdx.y * blockDim.y;
    int n = blockDim.x * gridDim.x;
    dst_d[y + x * n] = src_d[x + y * n];
}

// динамическая разделяемая память
__global__ void gFlip11(float *src_d, float *dst_d) {
    extern __shared__ float part[];
    int x = threadIdx.x + blockIdx.x * blockDim.x;
    int y = threadIdx.y + blockIdx.y * blockDim.y;
    int n = blockDim.x * gridDim.x;
    part[threadIdx.y + threadIdx.x * blockDim.y] = src_d[x + y * n];
    __syncthreads();
    x = threadIdx.x + blockIdx.y * blockDim.x;
    y = threadIdx.y + blockIdx.x * blockDim.y;
    dst_d[x + y * n] = part[threadIdx.x + threadIdx.y * blockDim.x];
}

// статическая: конфликты банков
__global__ void gFlip12(float *src_d, float *dst_d) {
    __shared__ float part[SIDE][SIDE];
    int x = threadIdx.x + blockIdx.x * blockDim.x;
    int y = threadIdx.y + blockIdx.y * blockDim.y;
    int n = blockDim.x * gridDim.x;
    part[threadIdx.y][threadIdx.x] = src_d[x + y * n];
    __syncthreads();
    x = threadIdx.x + blockIdx.y * blockDim.x;
    y = threadIdx.y + blockIdx.x * blockDim.y;
    dst_d[x + y * n] = part[threadIdx.x][threadIdx.y];
}

__global__ void gFlip2(float *src_d, float *dst_d) {
    __shared__ float part[SIDE][SIDE + 1];
    int x = threadIdx.x + blockIdx.x * blockDim.x;
    int y = threadIdx.y + blockIdx.y * blockDim.y;
    int n = blockDim.x * gridDim.x;
    part[threadIdx.y][threadIdx.x] = src_d[x + y * n];
    __syncthreads();
    x = threadIdx.x + blockIdx.y * blockDim.x;
    y = threadIdx.y + blockIdx.x * blockDim.y;
    dst_d[x + y * n] = part[threadIdx.x][threadIdx.y];
}

int main(int argc, char *argv[]) {
    if (argc < 3) { fprintf(stderr, "запуск: flip <сторона> <нити>\n"); return -1; }
    int n = atoi(argv[1]), threads = atoi(argv[2]);
    int blocks = n / threads;
    float *src_d, *dst_d;
    cudaMalloc((void **)&src_d, n * n * sizeof(float));
    cudaMalloc((void **)&dst_d, n * n * sizeof(float));
    gInit<<<dim3(blocks, blocks), dim3(threads, threads)>>>(src_d);
    gFlip0<<<dim3(blocks, blocks), dim3(threads, threads)>>>(src_d, dst_d);
    gFlip11<<<dim3(blocks, blocks), dim3(threads, threads), threads * threads * sizeof(float)>>>(src_d, dst_d);
    gFlip12<<<dim3(blocks, blocks), dim3(threads, threads)>>>(src_d, dst_d);
    gFlip2<<<dim3(blocks, blocks), dim3(threads, threads)>>>(src_d, dst_d);
    cudaDeviceSynchronize();
    show(dst_d, n);
    return 0;
}

void show(float *m, int n) { printf("%g\n", m[n]); }
