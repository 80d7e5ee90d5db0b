// Лабораторная работа: транспонирование матрицы на GPU.
// Сборка: nvcc -O2 -o transpose transpose.cu      Запуск: ./transpose [строк] [столбцов]
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

// Сторона плитки: ровно один варп по горизонтали.
#define TILE 32

#define MUST(expr)                                                                     \
    do {                                                                               \
        const cudaError_t err_ = (expr);                                               \
        if (err_ != cudaSuccess) {                                                     \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__,                    \
                         cudaGetErrorString(err_));                                    \
            std::exit(EXIT_FAILURE);                                                   \
        }                                                                              \
    } while (0)

// Вариант 1. Каждая нить переносит один элемент. Чтение идёт вдоль строки,
// а запись - вдоль столбца: варп попадает в 32 разных сектора.
__global__ void transposeNaive(const float *src, float *dst, int rows, int cols)
{
    const int c = blockIdx.x * TILE + threadIdx.x;
    const int r = blockIdx.y * TILE + threadIdx.y;

    if (r < rows && c < cols)
        dst[c * rows + r] = src[r * cols + c];
}

// Вариант 2. Плитка в разделяемой памяти: теперь и запись идёт вдоль строки,
// зато столбец плитки целиком лежит в одном банке.
__global__ void transposeShared(const float *src, float *dst, int rows, int cols)
{
    __shared__ float tile[TILE][TILE];

    int c = blockIdx.x * TILE + threadIdx.x;
    int r = blockIdx.y * TILE + threadIdx.y;
    if (r < rows && c < cols)
        tile[threadIdx.y][threadIdx.x] = src[r * cols + c];

    __syncthreads();

    // Блоки меняются местами, нити внутри блока - нет.
    c = blockIdx.y * TILE + threadIdx.x;
    r = blockIdx.x * TILE + threadIdx.y;
    if (r < cols && c < rows)
        dst[r * rows + c] = tile[threadIdx.x][threadIdx.y];
}

// Вариант 3. Лишний столбец сдвигает каждую строку плитки на один банк.
__global__ void transposePadded(const float *src, float *dst, int rows, int cols)
{
    __shared__ float tile[TILE][TILE + 1];

    int c = blockIdx.x * TILE + threadIdx.x;
    int r = blockIdx.y * TILE + threadIdx.y;
    if (r < rows && c < cols)
        tile[threadIdx.y][threadIdx.x] = src[r * cols + c];

    __syncthreads();

    c = blockIdx.y * TILE + threadIdx.x;
    r = blockIdx.x * TILE + threadIdx.y;
    if (r < cols && c < rows)
        dst[r * rows + c] = tile[threadIdx.x][threadIdx.y];
}

// Эталон на процессоре.
static bool matches(const std::vector<float> &a, const std::vector<float> &t, int rows, int cols)
{
    for (int r = 0; r < rows; ++r)
        for (int c = 0; c < cols; ++c)
            if (t[size_t(c) * rows + r] != a[size_t(r) * cols + c]) {
                std::fprintf(stderr, "ошибка в элементе (%d, %d)\n", c, r);
                return false;
            }
    return true;
}

int main(int argc, char **argv)
{
    const int rows = argc > 1 ? std::atoi(argv[1]) : 4096;
    const int cols = argc > 2 ? std::atoi(argv[2]) : rows;
    if (rows < 1 || cols < 1) {
        std::fprintf(stderr, "размеры должны быть положительными\n");
        return EXIT_FAILURE;
    }

    const size_t count = size_t(rows) * cols;
    std::vector<float> host(count), back(count);
    for (size_t i = 0; i < count; ++i)
        host[i] = float(i % 16777213);

    float *d_src = nullptr, *d_dst = nullptr;
    MUST(cudaMalloc(&d_src, count * sizeof(float)));
    MUST(cudaMalloc(&d_dst, count * sizeof(float)));
    MUST(cudaMemcpy(d_src, host.data(), count * sizeof(float), cudaMemcpyHostToDevice));

    const dim3 block(TILE, TILE);
    const dim3 grid((cols + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
    cudaEvent_t from, to;
    MUST(cudaEventCreate(&from));
    MUST(cudaEventCreate(&to));

    const char *names[] = {"naive", "shared", "padded"};
    for (int variant = 0; variant < 3; ++variant) {
        MUST(cudaMemset(d_dst, 0, count * sizeof(float)));
        MUST(cudaEventRecord(from));
        switch (variant) {
        case 0: transposeNaive<<<grid, block>>>(d_src, d_dst, rows, cols); break;
        case 1: transposeShared<<<grid, block>>>(d_src, d_dst, rows, cols); break;
        default: transposePadded<<<grid, block>>>(d_src, d_dst, rows, cols); break;
        }
        MUST(cudaGetLastError());
        MUST(cudaEventRecord(to));
        MUST(cudaEventSynchronize(to));

        float elapsed_ms = 0;
        MUST(cudaEventElapsedTime(&elapsed_ms, from, to));
        MUST(cudaMemcpy(back.data(), d_dst, count * sizeof(float), cudaMemcpyDeviceToHost));
        std::printf("%-7s %8.3f мс  %s\n", names[variant], elapsed_ms,
                    matches(host, back, rows, cols) ? "верно" : "НЕВЕРНО");
    }

    MUST(cudaEventDestroy(from));
    MUST(cudaEventDestroy(to));
    MUST(cudaFree(d_src));
    MUST(cudaFree(d_dst));
    return 0;
}
