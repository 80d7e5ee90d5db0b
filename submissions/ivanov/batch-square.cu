// Лабораторная работа: возведение в квадрат пакета малых матриц.
// Сборка: nvcc -O2 -o batch batch-square.cu      Запуск: ./batch [n] [число матриц]
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define MUST(expr)                                                                     \
    do {                                                                               \
        const cudaError_t err_ = (expr);                                               \
        if (err_ != cudaSuccess) {                                                     \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__,                    \
                         cudaGetErrorString(err_));                                    \
            std::exit(EXIT_FAILURE);                                                   \
        }                                                                              \
    } while (0)

// Произведение матрицы на себя; откуда она читается, решает вызывающий.
__host__ __device__ inline void square(const float *m, float *result, int n)
{
    for (int row = 0; row < n; ++row)
        for (int col = 0; col < n; ++col) {
            float acc = 0;
            for (int k = 0; k < n; ++k)
                acc += m[row * n + k] * m[k * n + col];
            result[row * n + col] = acc;
        }
}

// Вариант 1: нить читает свою матрицу прямо из глобальной памяти.
__global__ void squareSimple(const float *in, float *out, int n, int count)
{
    const int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id < count) // 1000 матриц не делятся на 256
        square(in + size_t(id) * n * n, out + size_t(id) * n * n, n);
}

// Вариант 2: блок вместе копирует свои матрицы подряд, каждая нить возводит в квадрат свою копию.
__global__ void squareShared(const float *in, float *out, int n, int count)
{
    extern __shared__ float copy[];
    const int size = n * n;
    const int first = blockIdx.x * blockDim.x;
    const int mine = min(int(blockDim.x), count - first);

    for (int e = threadIdx.x; e < mine * size; e += blockDim.x)
        copy[e] = in[size_t(first) * size + e];
    __syncthreads();

    if (threadIdx.x < mine)
        square(copy + threadIdx.x * size, out + size_t(first + threadIdx.x) * size, n);
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? std::atoi(argv[1]) : 5;
    const int count = argc > 2 ? std::atoi(argv[2]) : 1000;
    if (n < 2 || n > 10 || count < 1) {
        std::fprintf(stderr, "n от 2 до 10, матриц хотя бы одна\n");
        return EXIT_FAILURE;
    }
    // 128 нитей: при n = 10 это 51200 байт, больше обычных 48 КиБ.
    const int threads = 128, blocks = (count + threads - 1) / threads;
    const int shared = threads * n * n * sizeof(float);
    MUST(cudaFuncSetAttribute(squareShared, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));

    const size_t total = size_t(count) * n * n, bytes = total * sizeof(float);
    std::vector<float> in(total), right(total), back(total);
    for (float &x : in)
        x = std::rand() / float(RAND_MAX);
    for (int id = 0; id < count; ++id)
        square(&in[size_t(id) * n * n], &right[size_t(id) * n * n], n);

    float *dIn, *dOut;
    MUST(cudaMalloc(&dIn, bytes));
    MUST(cudaMalloc(&dOut, bytes));
    MUST(cudaMemcpy(dIn, in.data(), bytes, cudaMemcpyHostToDevice));
    cudaEvent_t from, to;
    MUST(cudaEventCreate(&from));
    MUST(cudaEventCreate(&to));
    for (int variant = 0; variant < 2; ++variant) {
        MUST(cudaMemset(dOut, 0, bytes));
        MUST(cudaEventRecord(from));
        if (variant == 0)
            squareSimple<<<blocks, threads>>>(dIn, dOut, n, count);
        else
            squareShared<<<blocks, threads, shared>>>(dIn, dOut, n, count);
        MUST(cudaGetLastError());
        MUST(cudaEventRecord(to));
        MUST(cudaEventSynchronize(to));
        float ms = 0;
        MUST(cudaEventElapsedTime(&ms, from, to));
        MUST(cudaMemcpy(back.data(), dOut, bytes, cudaMemcpyDeviceToHost));
        bool fine = true;
        for (size_t i = 0; i < total; ++i)
            fine = fine && std::fabs(back[i] - right[i]) <= 1e-3f;
        std::printf("%-6s %8.3f мс  %s\n", variant ? "shared" : "simple", ms, fine ? "верно" : "НЕВЕРНО");
    }
    MUST(cudaEventDestroy(from));
    MUST(cudaEventDestroy(to));
    MUST(cudaFree(dIn));
    MUST(cudaFree(dOut));
    return 0;
}
