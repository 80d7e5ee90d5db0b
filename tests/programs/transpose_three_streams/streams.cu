// Транспонирование: пересылка данных и вычисления в нескольких потоках CUDA (streams).
// Матрица делится на полосы строк; полоса копируется, транспонируется и возвращается в своём потоке.
// Для сравнения вся матрица транспонируется тремя ядрами в потоке по умолчанию.
#include <cuda_runtime.h>
#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr int TILE_DIM = 32;
constexpr int BLOCK_ROWS = 8;
constexpr int STREAMS = 3;

void die(cudaError_t e, const char *expression, int line)
{
    std::fprintf(stderr, "%d: %s: %s\n", line, expression, cudaGetErrorString(e));
    std::exit(1);
}

#define OK(expression)                                                  \
    if (cudaError_t e_ = (expression))                                  \
    die(e_, #expression, __LINE__)

} // namespace

// out[c][r] = in[r][c]; запись с шагом rows
__global__ void transpose_naive(float *out, const float *in, int cols, int rows)
{
    const int c = blockIdx.x * TILE_DIM + threadIdx.x;
    for (int r = blockIdx.y * TILE_DIM + threadIdx.y, end = min(r + TILE_DIM, rows); r < end; r += BLOCK_ROWS)
        if (c < cols)
            out[c * rows + r] = in[r * cols + c];
}

__global__ void transpose_shared(float *out, const float *in, int cols, int rows)
{
    __shared__ float tile[TILE_DIM * TILE_DIM];
    int c = blockIdx.x * TILE_DIM + threadIdx.x;
    int r = blockIdx.y * TILE_DIM + threadIdx.y;
    for (int i = 0; i < TILE_DIM; i += BLOCK_ROWS)
        if (c < cols && r + i < rows)
            tile[(threadIdx.y + i) * TILE_DIM + threadIdx.x] = in[(r + i) * cols + c];
    __syncthreads();
    c = blockIdx.y * TILE_DIM + threadIdx.x;
    r = blockIdx.x * TILE_DIM + threadIdx.y;
    for (int i = 0; i < TILE_DIM; i += BLOCK_ROWS)
        if (c < rows && r + i < cols)
            out[(r + i) * rows + c] = tile[threadIdx.x * TILE_DIM + threadIdx.y + i];
}

__global__ void transpose_padded(float *out, const float *in, int cols, int rows)
{
    __shared__ float tile[TILE_DIM * (TILE_DIM + 1)];
    int c = blockIdx.x * TILE_DIM + threadIdx.x;
    int r = blockIdx.y * TILE_DIM + threadIdx.y;
    for (int i = 0; i < TILE_DIM; i += BLOCK_ROWS)
        if (c < cols && r + i < rows)
            tile[(threadIdx.y + i) * (TILE_DIM + 1) + threadIdx.x] = in[(r + i) * cols + c];
    __syncthreads();
    c = blockIdx.y * TILE_DIM + threadIdx.x;
    r = blockIdx.x * TILE_DIM + threadIdx.y;
    for (int i = 0; i < TILE_DIM; i += BLOCK_ROWS)
        if (c < rows && r + i < cols)
            out[(r + i) * rows + c] = tile[threadIdx.x * (TILE_DIM + 1) + threadIdx.y + i];
}

// Матрица в закреплённой памяти хоста и её копия на устройстве
struct Matrix {
    int rows, cols;
    float *host = nullptr;
    float *device = nullptr;

    Matrix(int rows, int cols) : rows(rows), cols(cols)
    {
        OK(cudaHostAlloc(&host, bytes(), cudaHostAllocDefault));
        OK(cudaMalloc(&device, bytes()));
        OK(cudaMemset(device, 0, bytes()));
    }
    Matrix(Matrix &&) = delete;
    ~Matrix()
    {
        cudaFreeHost(host);
        cudaFree(device);
    }
    std::size_t count() const { return std::size_t(rows) * cols; }
    std::size_t bytes() const { return count() * sizeof(float); }
    float &at(int r, int c) { return host[std::size_t(r) * cols + c]; }
    void to_device() { OK(cudaMemcpy(device, host, bytes(), cudaMemcpyHostToDevice)); }
    void to_host() { OK(cudaMemcpy(host, device, bytes(), cudaMemcpyDeviceToHost)); }
};

using Kernel = void (*)(float *, const float *, int, int);

dim3 grid_of(int cols, int rows)
{
    return dim3((cols + TILE_DIM - 1) / TILE_DIM, (rows + TILE_DIM - 1) / TILE_DIM);
}

bool is_transposed(Matrix &in, Matrix &out)
{
    for (int r = 0; r < in.rows; ++r)
        for (int c = 0; c < in.cols; ++c)
            if (in.at(r, c) != out.at(c, r))
                return false;
    return true;
}

// Байты, прочитанные и записанные, за время в миллисекундах
double gigabytes_per_second(const Matrix &m, double ms)
{
    return ms > 0 ? 2.0 * m.bytes() / (ms * 1e6) : 0.0;
}

// Вся матрица сразу
double whole(Kernel kernel, Matrix &in, Matrix &out)
{
    using clock = std::chrono::steady_clock;
    in.to_device();
    OK(cudaDeviceSynchronize());
    const auto begin = clock::now();
    kernel<<<grid_of(in.cols, in.rows), dim3(TILE_DIM, BLOCK_ROWS)>>>(out.device, in.device, in.cols, in.rows);
    OK(cudaGetLastError());
    OK(cudaDeviceSynchronize());
    const std::chrono::duration<double, std::milli> spent = clock::now() - begin;
    out.to_host();
    return spent.count();
}

// По полосам: столбцы входа, каждая полоса - в своём потоке; выход полосы лежит подряд
double by_strips(Matrix &in, Matrix &out)
{
    cudaStream_t streams[STREAMS];
    cudaEvent_t finished[STREAMS];
    for (int s = 0; s < STREAMS; ++s) {
        OK(cudaStreamCreate(&streams[s]));
        OK(cudaEventCreateWithFlags(&finished[s], cudaEventDisableTiming));
    }
    const int width = in.cols / STREAMS;
    const auto begin = std::chrono::steady_clock::now();
    float *strips = nullptr;
    OK(cudaMalloc(&strips, in.bytes()));
    for (int s = 0; s < STREAMS; ++s) {
        float *strip = strips + std::size_t(s) * width * in.rows;
        float *result = out.device + std::size_t(s) * width * in.rows;
        OK(cudaMemcpy2DAsync(strip, width * sizeof(float), in.host + s * width, in.cols * sizeof(float),
                             width * sizeof(float), in.rows, cudaMemcpyHostToDevice, streams[s]));
        transpose_padded<<<grid_of(width, in.rows), dim3(TILE_DIM, BLOCK_ROWS), 0, streams[s]>>>(result, strip, width,
                                                                                                 in.rows);
        OK(cudaGetLastError());
        OK(cudaMemcpyAsync(out.host + std::size_t(s) * width * in.rows, result,
                           std::size_t(width) * in.rows * sizeof(float), cudaMemcpyDeviceToHost, streams[s]));
        OK(cudaEventRecord(finished[s], streams[s]));
    }
    for (int s = 0; s < STREAMS; ++s)
        OK(cudaEventSynchronize(finished[s]));
    const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - begin;
    OK(cudaFree(strips));
    for (int s = 0; s < STREAMS; ++s) {
        OK(cudaEventDestroy(finished[s]));
        OK(cudaStreamDestroy(streams[s]));
    }
    return spent.count();
}

int main()
{
    const std::initializer_list<std::pair<int, int>> sizes = {{40, 99}, {64, 192}};
    const std::vector<std::pair<std::string, Kernel>> kernels = {
        {"глобальная память", transpose_naive},
        {"разделяемая память", transpose_shared},
        {"без конфликтов банков", transpose_padded},
    };
    int failures = 0;
    for (const auto &[rows, cols] : sizes) {
        Matrix in(rows, cols), out(cols, rows);
        std::iota(in.host, in.host + in.count(), 1.0f);
        std::printf("матрица %d x %d\n", rows, cols);
        for (const auto &[title, kernel] : kernels) {
            const double ms = whole(kernel, in, out);
            const bool ok = is_transposed(in, out);
            failures += !ok;
            std::printf("  %s: %s\n", title.c_str(), ok ? "верно" : "ошибка");
            std::fprintf(stderr, "  %.4f мс, %.2f ГБ/с\n", ms, gigabytes_per_second(in, ms));
            std::fill(out.host, out.host + out.count(), 0.0f);
        }
        assert(cols % STREAMS == 0);
        const double ms = by_strips(in, out);
        const bool ok = is_transposed(in, out);
        failures += !ok;
        std::printf("  %d потока: %s\n", STREAMS, ok ? "верно" : "ошибка");
        std::fprintf(stderr, "  %.4f мс\n", ms);
    }
    return failures;
}
