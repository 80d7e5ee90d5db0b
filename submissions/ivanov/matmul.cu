// Лабораторная работа: умножение матриц на GPU, C = A·B.
// Сборка: nvcc -O2 -o matmul matmul.cu      Запуск: ./matmul [n]
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

// Сторона блока и плитки.
#define S 16
// Нитей в блоке для ядер, которым строка или столбец достаётся целиком.
#define LINE_THREADS 128

#define MUST(expr)                                                                     \
    do {                                                                               \
        const cudaError_t err_ = (expr);                                               \
        if (err_ != cudaSuccess) {                                                     \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__,                    \
                         cudaGetErrorString(err_));                                    \
            std::exit(EXIT_FAILURE);                                                   \
        }                                                                              \
    } while (0)

// Вариант 1: «в лоб». threadIdx.x идёт вдоль строки C, поэтому чтение B и запись C согласованы.
__global__ void mulNaive(const float *A, const float *B, float *C, int n)
{
    const int j = blockIdx.x * S + threadIdx.x;
    const int i = blockIdx.y * S + threadIdx.y;
    if (i >= n || j >= n)
        return;

    float acc = 0;
    for (int k = 0; k < n; ++k)
        acc += A[i * n + k] * B[k * n + j];
    C[i * n + j] = acc;
}

// Вариант 2: блок считает строку C и один раз читает строку A. Нитей может быть меньше, чем n.
__global__ void mulRow(const float *A, const float *B, float *C, int n)
{
    extern __shared__ float line[];
    const int i = blockIdx.x;
    for (int k = threadIdx.x; k < n; k += blockDim.x)
        line[k] = A[i * n + k];
    __syncthreads();

    for (int j = threadIdx.x; j < n; j += blockDim.x) {
        float acc = 0;
        for (int k = 0; k < n; ++k)
            acc += line[k] * B[k * n + j];
        C[i * n + j] = acc;
    }
}

// Вариант 3: блок считает столбец C и один раз читает столбец B.
__global__ void mulColumn(const float *A, const float *B, float *C, int n)
{
    extern __shared__ float line[];
    const int j = blockIdx.x;
    for (int k = threadIdx.x; k < n; k += blockDim.x)
        line[k] = B[k * n + j];
    __syncthreads();

    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        float acc = 0;
        for (int k = 0; k < n; ++k)
            acc += A[i * n + k] * line[k];
        C[i * n + j] = acc;
    }
}

// Вариант 4: плитки S×S. За краем матрицы в плитку кладутся нули, они ничего не добавляют к сумме.
__global__ void mulBlock(const float *A, const float *B, float *C, int n)
{
    __shared__ float a[S][S];
    __shared__ float b[S][S];

    const int x = threadIdx.x, y = threadIdx.y;
    const int j = blockIdx.x * S + x;
    const int i = blockIdx.y * S + y;

    float acc = 0;
    for (int z = 0; z < n; z += S) {
        a[y][x] = (i < n && z + x < n) ? A[i * n + z + x] : 0.0f;
        b[y][x] = (z + y < n && j < n) ? B[(z + y) * n + j] : 0.0f;
        __syncthreads();
        for (int k = 0; k < S; ++k)
            acc += a[y][k] * b[k][x];
        // Без этого барьера быстрые нити затёрли бы плитки раньше, чем их дочитают медленные.
        __syncthreads();
    }
    if (i < n && j < n)
        C[i * n + j] = acc;
}

// Вариант 5: тот же блочный алгоритм, внутренний цикл раскручен на четыре шага.
__global__ void mulBlockUnrolled(const float *A, const float *B, float *C, int n)
{
    __shared__ float a[S][S];
    __shared__ float b[S][S];

    const int x = threadIdx.x, y = threadIdx.y;
    const int j = blockIdx.x * S + x;
    const int i = blockIdx.y * S + y;

    float acc = 0;
    for (int z = 0; z < n; z += S) {
        a[y][x] = (i < n && z + x < n) ? A[i * n + z + x] : 0.0f;
        b[y][x] = (z + y < n && j < n) ? B[(z + y) * n + j] : 0.0f;
        __syncthreads();
        for (int k = 0; k < S; k += 4) {
            acc += a[y][k + 0] * b[k + 0][x];
            acc += a[y][k + 1] * b[k + 1][x];
            acc += a[y][k + 2] * b[k + 2][x];
            acc += a[y][k + 3] * b[k + 3][x];
        }
        __syncthreads();
    }
    if (i < n && j < n)
        C[i * n + j] = acc;
}

// Эталон на процессоре; порядок циклов i, k, j идёт по памяти подряд.
static std::vector<float> onCpu(const std::vector<float> &A, const std::vector<float> &B, int n)
{
    std::vector<float> C(size_t(n) * n, 0.0f);
    for (int i = 0; i < n; ++i)
        for (int k = 0; k < n; ++k)
            for (int j = 0; j < n; ++j)
                C[size_t(i) * n + j] += A[size_t(i) * n + k] * B[size_t(k) * n + j];
    return C;
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? std::atoi(argv[1]) : 1024;
    if (n < 1) {
        std::fprintf(stderr, "n должно быть положительным\n");
        return EXIT_FAILURE;
    }
    const size_t count = size_t(n) * n, bytes = count * sizeof(float);
    std::vector<float> A(count), B(count), C(count);
    for (size_t i = 0; i < count; ++i) {
        A[i] = std::rand() / float(RAND_MAX) - 0.5f;
        B[i] = std::rand() / float(RAND_MAX) - 0.5f;
    }
    const auto from = std::chrono::steady_clock::now();
    const std::vector<float> right = onCpu(A, B, n);
    const std::chrono::duration<double, std::milli> cpu = std::chrono::steady_clock::now() - from;
    std::printf("процессор %10.3f мс\n", cpu.count());

    float *dA, *dB, *dC;
    MUST(cudaMalloc(&dA, bytes));
    MUST(cudaMalloc(&dB, bytes));
    MUST(cudaMalloc(&dC, bytes));
    MUST(cudaMemcpy(dA, A.data(), bytes, cudaMemcpyHostToDevice));
    MUST(cudaMemcpy(dB, B.data(), bytes, cudaMemcpyHostToDevice));

    const dim3 block(S, S);
    const dim3 grid((n + S - 1) / S, (n + S - 1) / S);
    const size_t lineBytes = n * sizeof(float);
    const char *names[] = {"naive", "row", "column", "block", "unrolled"};
    cudaEvent_t start, stop;
    MUST(cudaEventCreate(&start));
    MUST(cudaEventCreate(&stop));
    for (int variant = 0; variant < 5; ++variant) {
        MUST(cudaMemset(dC, 0, bytes));
        MUST(cudaEventRecord(start));
        switch (variant) {
        case 0: mulNaive<<<grid, block>>>(dA, dB, dC, n); break;
        case 1: mulRow<<<n, LINE_THREADS, lineBytes>>>(dA, dB, dC, n); break;
        case 2: mulColumn<<<n, LINE_THREADS, lineBytes>>>(dA, dB, dC, n); break;
        case 3: mulBlock<<<grid, block>>>(dA, dB, dC, n); break;
        default: mulBlockUnrolled<<<grid, block>>>(dA, dB, dC, n); break;
        }
        MUST(cudaGetLastError());
        MUST(cudaEventRecord(stop));
        MUST(cudaEventSynchronize(stop));
        float ms = 0;
        MUST(cudaEventElapsedTime(&ms, start, stop));
        MUST(cudaMemcpy(C.data(), dC, bytes, cudaMemcpyDeviceToHost));

        float worst = 0;
        for (size_t i = 0; i < count; ++i)
            worst = std::fmax(worst, std::fabs(C[i] - right[i]));
        std::printf("%-9s %10.3f мс  %8.1f ГФлоп/с  быстрее процессора в %7.1f раз  ошибка %g\n", names[variant], ms,
                    2.0 * n * n * n / ms / 1e6, cpu.count() / ms, worst);
    }
    MUST(cudaEventDestroy(start));
    MUST(cudaEventDestroy(stop));
    MUST(cudaFree(dA));
    MUST(cudaFree(dB));
    MUST(cudaFree(dC));
    return 0;
}
