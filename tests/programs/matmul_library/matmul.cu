/*
 * Умножение матриц на GPU: простой и блочный алгоритмы.
 *
 * Файлы:
 *   matrix.hpp, matrix.cu - класс матрицы и умножение на CPU
 *   matmul.cu             - ядра и их запуск
 *   main.cu               - проверка
 *
 * Сборка: nvcc -o lab main.cu matmul.cu matrix.cu
 */
// Ядра и их запуск; main в другом файле.
#include "matrix.hpp"

#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

namespace {

constexpr int kSide = 8;

void fail(cudaError_t code, const char* call, int line)
{
    std::fprintf(stderr, "%s (matmul.cu:%d): %s\n", call, line, cudaGetErrorString(code));
    std::exit(1);
}

#define GPU(call)                                   \
    do {                                            \
        cudaError_t code_ = (call);                 \
        if (code_ != cudaSuccess)                   \
            fail(code_, #call, __LINE__);           \
    } while (0)

__global__ void product_simple(const double* a, const double* b, double* c, int n)
{
    const int row = blockIdx.y * kSide + threadIdx.y;
    const int col = blockIdx.x * kSide + threadIdx.x;
    if (row >= n || col >= n)
        return;
    double sum = 0;
    for (int k = 0; k < n; ++k)
        sum += a[row * n + k] * b[k * n + col];
    c[row * n + col] = sum;
}

__global__ void product_tiled(const double* a, const double* b, double* c, int n)
{
    __shared__ double left[kSide][kSide];
    __shared__ double right[kSide][kSide];
    const int row = blockIdx.y * kSide + threadIdx.y;
    const int col = blockIdx.x * kSide + threadIdx.x;
    double sum = 0;
    for (int first = 0; first < n; first += kSide)
    {
        left[threadIdx.y][threadIdx.x] = row < n && first + threadIdx.x < n ? a[row * n + first + threadIdx.x] : 0.0;
        right[threadIdx.y][threadIdx.x] = col < n && first + threadIdx.y < n ? b[(first + threadIdx.y) * n + col] : 0.0;
        __syncthreads();
        for (int k = 0; k < kSide; ++k)
            sum += left[threadIdx.y][k] * right[k][threadIdx.x];
        __syncthreads();
    }
    if (row < n && col < n)
        c[row * n + col] = sum;
}

class Buffer {
public:
    explicit Buffer(std::size_t bytes) : bytes_(bytes) { GPU(cudaMalloc(&pointer_, bytes)); }
    ~Buffer() { cudaFree(pointer_); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    void from(const double* host) { GPU(cudaMemcpy(pointer_, host, bytes_, cudaMemcpyHostToDevice)); }
    void to(double* host) const { GPU(cudaMemcpy(host, pointer_, bytes_, cudaMemcpyDeviceToHost)); }
    double* get() { return pointer_; }

private:
    double* pointer_ = nullptr;
    std::size_t bytes_;
};

}  // namespace

Matrix multiply_gpu(const Matrix& a, const Matrix& b, Algorithm algorithm)
{
    const int n = a.size();
    const std::size_t bytes = sizeof(double) * n * n;
    Buffer da(bytes), db(bytes), dc(bytes);
    da.from(a.data());
    db.from(b.data());

    const dim3 block(kSide, kSide);
    const dim3 grid((n + kSide - 1) / kSide, (n + kSide - 1) / kSide);
    if (algorithm == Algorithm::simple)
        product_simple<<<grid, block>>>(da.get(), db.get(), dc.get(), n);
    else
        product_tiled<<<grid, block>>>(da.get(), db.get(), dc.get(), n);
    GPU(cudaGetLastError());

    Matrix c(n);
    dc.to(c.data());
    return c;
}
