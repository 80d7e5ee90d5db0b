// Лабораторная работа: размытие вектора и виды памяти хоста.
// Сборка: nvcc -O2 -o blur box-blur.cu      Запуск: ./blur [число элементов]
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define RADIUS 2
#define BLOCK_SIZE 512

#define MUST(expr)                                                                     \
    do {                                                                               \
        const cudaError_t err_ = (expr);                                               \
        if (err_ != cudaSuccess) {                                                     \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__,                    \
                         cudaGetErrorString(err_));                                    \
            std::exit(EXIT_FAILURE);                                                   \
        }                                                                              \
    } while (0)

// Вариант 1: каждая нить сама читает всё своё окно.
__global__ void blurNaive(const float *in, float *out, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    if (i < RADIUS || i >= count - RADIUS) {
        out[i] = in[i];
        return;
    }
    float sum = 0;
    for (int k = -RADIUS; k <= RADIUS; ++k)
        sum += in[i + k];
    out[i] = sum / (2 * RADIUS + 1);
}

// Вариант 2: элементы блока и по RADIUS соседей с каждой стороны лежат в разделяемой памяти.
__global__ void blurShared(const float *in, float *out, int count)
{
    __shared__ float window[BLOCK_SIZE + 2 * RADIUS];

    const int i = blockIdx.x * BLOCK_SIZE + threadIdx.x;
    const int here = threadIdx.x + RADIUS;
    if (i < count)
        window[here] = in[i];
    // Первые нити догружают края; за пределами вектора ничего не читаем.
    if (threadIdx.x < RADIUS) {
        if (i >= RADIUS && i - RADIUS < count)
            window[here - RADIUS] = in[i - RADIUS];
        if (i + BLOCK_SIZE < count)
            window[here + BLOCK_SIZE] = in[i + BLOCK_SIZE];
    }
    // До барьера не выходит ни одна нить, даже лишняя.
    __syncthreads();

    if (i >= count)
        return;
    if (i < RADIUS || i >= count - RADIUS) {
        out[i] = window[here];
        return;
    }
    float sum = 0;
    for (int k = -RADIUS; k <= RADIUS; ++k)
        sum += window[here + k];
    out[i] = sum / (2 * RADIUS + 1);
}

static void onCpu(const float *in, float *out, int count)
{
    for (int i = 0; i < count; ++i) {
        out[i] = in[i];
        if (i >= RADIUS && i < count - RADIUS) {
            float sum = 0;
            for (int k = -RADIUS; k <= RADIUS; ++k)
                sum += in[i + k];
            out[i] = sum / (2 * RADIUS + 1);
        }
    }
}

static double nowMs()
{
    using namespace std::chrono;
    return duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
}

enum HostMemory { PAGEABLE, PINNED, WRITE_COMBINED, MAPPED };

static float *hostAlloc(HostMemory kind, size_t bytes, bool input)
{
    float *p = nullptr;
    switch (kind) {
    case PAGEABLE: p = (float *)std::malloc(bytes); break;
    case PINNED: MUST(cudaMallocHost(&p, bytes)); break;
    // Процессор читает такую память медленно, поэтому она годится только для входа.
    case WRITE_COMBINED: MUST(cudaHostAlloc(&p, bytes, input ? cudaHostAllocWriteCombined : cudaHostAllocDefault)); break;
    case MAPPED: MUST(cudaHostAlloc(&p, bytes, cudaHostAllocMapped)); break;
    }
    return p;
}

int main(int argc, char **argv)
{
    const int count = argc > 1 ? std::atoi(argv[1]) : 16 * 1024 * 1024;
    if (count < 1) {
        std::fprintf(stderr, "нужен хотя бы один элемент\n");
        return EXIT_FAILURE;
    }
    const size_t bytes = size_t(count) * sizeof(float);
    const int blocks = (count + BLOCK_SIZE - 1) / BLOCK_SIZE;
    std::vector<float> right(count);
    const char *kinds[] = {"обычная", "закреплённая", "запись подряд", "отображаемая"};

    for (int kind = PAGEABLE; kind <= MAPPED; ++kind) {
        float *in = hostAlloc(HostMemory(kind), bytes, true);
        float *out = hostAlloc(HostMemory(kind), bytes, false);
        for (int i = 0; i < count; ++i)
            in[i] = 100 * (std::rand() / float(RAND_MAX));
        const double cpuFrom = nowMs();
        onCpu(in, right.data(), count);
        const double cpu = nowMs() - cpuFrom;

        float *dIn = nullptr, *dOut = nullptr;
        if (kind == MAPPED) {
            MUST(cudaHostGetDevicePointer(&dIn, in, 0));
            MUST(cudaHostGetDevicePointer(&dOut, out, 0));
        } else {
            MUST(cudaMalloc(&dIn, bytes));
            MUST(cudaMalloc(&dOut, bytes));
        }
        for (int variant = 0; variant < 2; ++variant) {
            const double t0 = nowMs();
            if (kind != MAPPED)
                MUST(cudaMemcpy(dIn, in, bytes, cudaMemcpyHostToDevice));
            const double t1 = nowMs();
            if (variant == 0)
                blurNaive<<<blocks, BLOCK_SIZE>>>(dIn, dOut, count);
            else
                blurShared<<<blocks, BLOCK_SIZE>>>(dIn, dOut, count);
            MUST(cudaGetLastError());
            MUST(cudaDeviceSynchronize());
            const double t2 = nowMs();
            if (kind != MAPPED)
                MUST(cudaMemcpy(out, dOut, bytes, cudaMemcpyDeviceToHost));
            const double t3 = nowMs();

            bool fine = true;
            for (int i = 0; i < count; ++i)
                fine = fine && std::fabs(out[i] - right[i]) <= 0.01f;
            std::printf("%-14s %-6s туда %8.3f  ядро %8.3f  обратно %8.3f  всего %8.3f  процессор %8.3f мс  %s\n",
                        kinds[kind], variant ? "shared" : "naive", t1 - t0, t2 - t1, t3 - t2, t3 - t0, cpu,
                        fine ? "верно" : "НЕВЕРНО");
        }
        if (kind != MAPPED) {
            MUST(cudaFree(dIn));
            MUST(cudaFree(dOut));
        }
        if (kind == PAGEABLE) {
            std::free(in);
            std::free(out);
        } else {
            MUST(cudaFreeHost(in));
            MUST(cudaFreeHost(out));
        }
    }
    return 0;
}
