/*
 * Laboratory work No. 3: squares of many small matrices.
 * All arrays are in unified memory; the order of the matrices is a template argument.
 *
 *   main [count]
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sstream>
#include <iomanip>
#include <cuda_runtime.h>

static const int THREADS_PER_BLOCK = 64;

#define gpuErrchk(ans) { gpuAssert((ans), __FILE__, __LINE__); }
inline void gpuAssert(cudaError_t code, const char *file, int line, bool abort = true)
{
    if (code != cudaSuccess) {
        fprintf(stderr, "GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line);
        if (abort)
            exit(code);
    }
}

/* ------------------------------------------------------------------ unified memory with an owner */
template <class T>
struct Unified {
    T *ptr;
    size_t n;
    explicit Unified(size_t count) : ptr(NULL), n(count)
    {
        gpuErrchk(cudaMallocManaged((void **)&ptr, n * sizeof(T), cudaMemAttachGlobal));
        memset(ptr, 0, n * sizeof(T));
    }
    ~Unified() { cudaFree(ptr); }
    T &operator[](size_t i) { return ptr[i]; }
    const T &operator[](size_t i) const { return ptr[i]; }
    operator T *() { return ptr; }

private:
    Unified(const Unified &);
    Unified &operator=(const Unified &);
};

/* ------------------------------------------------------------------ kernels */
/* one thread - one matrix, read from global memory as often as it is needed */
template <int N>
__global__ void SquareGlobal(const float *matrices, float *squares, int count)
{
    const int id = blockDim.x * blockIdx.x + threadIdx.x;
    if (id < count) {
        const float *m = &matrices[id * N * N];
        float *s = &squares[id * N * N];
        for (int row = 0; row != N; ++row) {
            for (int col = 0; col != N; ++col) {
                float value = 0;
#pragma unroll
                for (int k = 0; k != N; ++k)
                    value += m[row * N + k] * m[k * N + col];
                s[row * N + col] = value;
            }
        }
    }
}

/* the block copies its matrices together, so that neighbours read neighbours */
template <int N>
__global__ void SquareShared(const float *matrices, float *squares, int count)
{
    __shared__ float cache[THREADS_PER_BLOCK * N * N];
    const int first = blockDim.x * blockIdx.x;
    const int here = min((int)blockDim.x, count - first);
    for (int i = threadIdx.x; i < here * N * N; i += blockDim.x)
        cache[i] = matrices[first * N * N + i];
    __syncthreads();
    if (threadIdx.x < here) {
        const float *m = cache + threadIdx.x * N * N;
        float *s = squares + (first + threadIdx.x) * N * N;
        for (int row = 0; row != N; ++row)
            for (int col = 0; col != N; ++col) {
                float value = 0;
#pragma unroll
                for (int k = 0; k != N; ++k)
                    value += m[row * N + k] * m[k * N + col];
                s[row * N + col] = value;
            }
    }
}

/* ------------------------------------------------------------------ reference */
template <int N>
void squareHost(const float *matrices, float *squares, int count)
{
    for (int id = 0; id < count; ++id)
        for (int row = 0; row < N; ++row)
            for (int col = 0; col < N; ++col) {
                double value = 0;
                for (int k = 0; k < N; ++k)
                    value += matrices[(id * N + row) * N + k] * matrices[(id * N + k) * N + col];
                squares[(id * N + row) * N + col] = (float)value;
            }
}

struct Result {
    int order;
    float hostMs, globalMs, sharedMs;
    bool globalOk, sharedOk;
};

class Stopwatch {
    cudaEvent_t from, to;

public:
    Stopwatch() { cudaEventCreate(&from); cudaEventCreate(&to); }
    ~Stopwatch() { cudaEventDestroy(from); cudaEventDestroy(to); }
    void start() { cudaEventRecord(from, 0); }
    float stop()
    {
        float ms;
        cudaEventRecord(to, 0);
        gpuErrchk(cudaEventSynchronize(to));
        gpuErrchk(cudaEventElapsedTime(&ms, from, to));
        return ms;
    }
};

static bool equal(const float *x, const float *y, size_t n)
{
    for (size_t i = 0; i < n; ++i)
        if (x[i] - y[i] > 1e-3f || y[i] - x[i] > 1e-3f)
            return false;
    return true;
}

template <int N>
Result experiment(int count)
{
    Result r = {N, 0, 0, 0, false, false};
    const size_t elements = (size_t)count * N * N;
    Unified<float> matrices(elements), squares(elements);
    float *expected = new float[elements];
    srand(N);
    for (size_t i = 0; i < elements; ++i)
        matrices[i] = rand() / (float)RAND_MAX;

    clock_t begin = clock();
    squareHost<N>(matrices, expected, count);
    r.hostMs = 1000.0f * (clock() - begin) / CLOCKS_PER_SEC;

    const int blocks = (count + THREADS_PER_BLOCK - 1) / THREADS_PER_BLOCK;
    Stopwatch watch;
    watch.start();
    SquareGlobal<N><<<blocks, THREADS_PER_BLOCK>>>(matrices, squares, count);
    gpuErrchk(cudaPeekAtLastError());
    r.globalMs = watch.stop();
    r.globalOk = equal(squares, expected, elements);

    memset(squares.ptr, 0, elements * sizeof(float));
    watch.start();
    SquareShared<N><<<blocks, THREADS_PER_BLOCK>>>(matrices, squares, count);
    gpuErrchk(cudaPeekAtLastError());
    r.sharedMs = watch.stop();
    r.sharedOk = equal(squares, expected, elements);

    delete[] expected;
    return r;
}

std::ostream &operator<<(std::ostream &out, const Result &r)
{
    return out << std::setw(5) << r.order << std::setw(10) << (r.globalOk ? "yes" : "NO") << std::setw(10)
               << (r.sharedOk ? "yes" : "NO");
}

int main(int argc, char *argv[])
{
    int count = 300;
    if (argc > 1) {
        std::istringstream text(argv[1]);
        if (!(text >> count) || count <= 0) {
            std::cerr << "usage: " << argv[0] << " [count]" << std::endl;
            return EXIT_FAILURE;
        }
    }
    int device = -1;
    gpuErrchk(cudaGetDevice(&device));
    std::cout << "order    global    shared" << std::endl;
    float total = 0;
    Result results[] = {experiment<2>(count), experiment<3>(count), experiment<5>(count), experiment<8>(count)};
    bool good = true;
    for (const Result &r : results) {
        std::cout << r << std::endl;
        total += r.globalMs + r.sharedMs;
        good = good && r.globalOk && r.sharedOk;
    }
    std::cerr << std::fixed << std::setprecision(3) << "order      host    global    shared, ms" << std::endl;
    for (const Result &r : results)
        std::cerr << std::setw(5) << r.order << std::setw(10) << r.hostMs << std::setw(10) << r.globalMs
                  << std::setw(10) << r.sharedMs << std::endl;
    std::cerr << "GPU " << device << ": " << total << " ms" << std::endl;
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
