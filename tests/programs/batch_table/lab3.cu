/*
 * Вопросы к работе:
 *  1. Почему при N = 2 и 3 разделяемая память почти не помогает?
 *  2. Сколько байт разделяемой памяти нужно блоку при N = 10?
 *  3. Что ограничивает число потоков в блоке при больших N?
 *  4. Почему потоки сверх числа матриц должны завершаться сразу?
 */
// Платформы больших данных, практика 3: возведение пакета матриц в квадрат.
// Для N = 2..10 сравниваются две реализации. Результат печатается таблицей.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <string>
#include <algorithm>
#include <chrono>

#define MATRICES 256
#define THREADS 64

#define CUDA_CALL(expr)                                                                     \
    if (cudaError_t status_ = (expr); status_ != cudaSuccess) {                             \
        std::fprintf(stderr, "%s failed at line %d: %s\n", #expr, __LINE__,                 \
                     cudaGetErrorString(status_));                                          \
        std::exit(EXIT_FAILURE);                                                            \
    }

// Один поток - одна матрица, всё в глобальной памяти
__global__ void squareSimple(const float* input, float* output, int N, int numMatrices)
{
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= numMatrices) return;

    const float* A = input + idx * N * N;
    float* C = output + idx * N * N;
    for (int i = 0; i < N; ++i) {
        for (int j = 0; j < N; ++j) {
            float sum = 0.0f;
            for (int k = 0; k < N; ++k) {
                sum += A[i * N + k] * A[k * N + j];
            }
            C[i * N + j] = sum;
        }
    }
}

// То же, но матрица сначала копируется в динамическую разделяемую память
__global__ void squareShared(const float* input, float* output, int N, int numMatrices)
{
    extern __shared__ float shared[];
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= numMatrices) return;

    float* mine = shared + threadIdx.x * N * N;
    for (int i = 0; i < N * N; ++i) {
        mine[i] = input[idx * N * N + i];
    }
    float* C = output + idx * N * N;
    for (int i = 0; i < N; ++i) {
        for (int j = 0; j < N; ++j) {
            float sum = 0.0f;
            for (int k = 0; k < N; ++k) {
                sum += mine[i * N + k] * mine[k * N + j];
            }
            C[i * N + j] = sum;
        }
    }
}

class Stopwatch {
public:
    Stopwatch() : begin_(std::chrono::steady_clock::now()) {}
    double ms() const
    {
        using namespace std::chrono;
        return duration<double, std::milli>(steady_clock::now() - begin_).count();
    }

private:
    std::chrono::steady_clock::time_point begin_;
};

static void squareCpu(const std::vector<float>& input, std::vector<float>& output, int N, int count)
{
    for (int m = 0; m < count; ++m)
        for (int i = 0; i < N; ++i)
            for (int j = 0; j < N; ++j) {
                double sum = 0;
                for (int k = 0; k < N; ++k)
                    sum += (double)input[m * N * N + i * N + k] * input[m * N * N + k * N + j];
                output[m * N * N + i * N + j] = (float)sum;
            }
}

static bool near(const std::vector<float>& a, const std::vector<float>& b, float eps = 1e-3f)
{
    return std::equal(a.begin(), a.end(), b.begin(), [eps](float x, float y) { return std::fabs(x - y) < eps; });
}

struct Row {
    int N;
    bool simpleOk, sharedOk;
    double cpuMs;
    float simpleMs, sharedMs;
    size_t sharedBytes;
};

static Row measure(int N)
{
    Row row{};
    row.N = N;
    const size_t elements = (size_t)MATRICES * N * N, bytes = elements * sizeof(float);
    std::vector<float> input(elements), output(elements), expected(elements);
    std::generate(input.begin(), input.end(), [] { return (float)rand() / RAND_MAX; });

    Stopwatch watch;
    squareCpu(input, expected, N, MATRICES);
    row.cpuMs = watch.ms();

    float *d_input = nullptr, *d_output = nullptr;
    CUDA_CALL(cudaMalloc(&d_input, bytes));
    CUDA_CALL(cudaMalloc(&d_output, bytes));
    CUDA_CALL(cudaMemcpy(d_input, input.data(), bytes, cudaMemcpyHostToDevice));

    cudaEvent_t start, stop;
    CUDA_CALL(cudaEventCreate(&start));
    CUDA_CALL(cudaEventCreate(&stop));
    const int blocks = (MATRICES + THREADS - 1) / THREADS;

    CUDA_CALL(cudaEventRecord(start));
    squareSimple<<<blocks, THREADS>>>(d_input, d_output, N, MATRICES);
    CUDA_CALL(cudaGetLastError());
    CUDA_CALL(cudaEventRecord(stop));
    CUDA_CALL(cudaEventSynchronize(stop));
    CUDA_CALL(cudaEventElapsedTime(&row.simpleMs, start, stop));
    CUDA_CALL(cudaMemcpy(output.data(), d_output, bytes, cudaMemcpyDeviceToHost));
    row.simpleOk = near(output, expected);

    row.sharedBytes = THREADS * N * N * sizeof(float);
    CUDA_CALL(cudaMemset(d_output, 0, bytes));
    CUDA_CALL(cudaEventRecord(start));
    squareShared<<<blocks, THREADS, row.sharedBytes>>>(d_input, d_output, N, MATRICES);
    CUDA_CALL(cudaGetLastError());
    CUDA_CALL(cudaEventRecord(stop));
    CUDA_CALL(cudaEventSynchronize(stop));
    CUDA_CALL(cudaEventElapsedTime(&row.sharedMs, start, stop));
    CUDA_CALL(cudaMemcpy(output.data(), d_output, bytes, cudaMemcpyDeviceToHost));
    row.sharedOk = near(output, expected);

    CUDA_CALL(cudaEventDestroy(start));
    CUDA_CALL(cudaEventDestroy(stop));
    CUDA_CALL(cudaFree(d_input));
    CUDA_CALL(cudaFree(d_output));
    return row;
}

// Таблица в файл для построения графиков
static bool saveCsv(const char* name, const std::vector<Row>& table)
{
    FILE* file = std::fopen(name, "w");
    if (!file) return false;
    std::fprintf(file, "N;simple;shared;cpu\n");
    for (const Row& row : table)
        std::fprintf(file, "%d;%f;%f;%f\n", row.N, row.simpleMs, row.sharedMs, row.cpuMs);
    return std::fclose(file) == 0;
}

// И обратно: сколько строк в нём оказалось
static int countCsv(const char* name)
{
    FILE* file = std::fopen(name, "r");
    if (!file) return -1;
    int lines = 0;
    char line[256];
    while (std::fgets(line, sizeof line, file)) ++lines;
    std::fclose(file);
    return lines;
}

static std::string mark(bool ok) { return ok ? "верно" : "НЕВЕРНО"; }

int main()
{
    int devices = 0;
    CUDA_CALL(cudaGetDeviceCount(&devices));
    if (devices == 0) {
        std::puts("нет устройств CUDA");
        return 1;
    }
    srand(42);
    std::vector<Row> table;
    for (int N = 2; N <= 10; N += 2) table.push_back(measure(N));

    std::printf(" N | simple | shared | байт на блок\n");
    std::printf("---+--------+--------+-------------\n");
    for (const Row& row : table)
        std::printf("%2d | %s  | %s  | %zu\n", row.N, mark(row.simpleOk).c_str(), mark(row.sharedOk).c_str(), row.sharedBytes);
    const bool timed = std::all_of(table.begin(), table.end(), [](const Row& r) { return r.simpleMs > 0 && r.sharedMs > 0 && r.cpuMs >= 0; });
    std::puts(timed ? "время измерено" : "время не измерено");
    if (!saveCsv("times.csv", table)) std::puts("файл не записан");
    std::printf("строк в файле: %d\n", countCsv("times.csv"));
    return 0;
}
