// Умножение матриц: пять алгоритмов лабораторной работы, размеры и блок задаются аргументами.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <string>
#include <cuda_runtime.h>

const int S = 16;

struct Result
{
    std::string name;
    float ms;
    bool ok;
};

void checkError(cudaError_t error, const char *file, int line)
{
    if (error == cudaSuccess)
        return;
    printf("%s:%d: %s\n", file, line, cudaGetErrorString(error));
    exit(1);
}
#define CHECK(x) checkError((x), __FILE__, __LINE__)

__global__ void mulNaive(const float *A, const float *B, float *C, int N)
{
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N || j >= N)
        return;
    float sum = 0;
    for (int k = 0; k < N; k++)
        sum += A[i * N + k] * B[k * N + j];
    C[i * N + j] = sum;
}

__global__ void mulRow(const float *A, const float *B, float *C, int N)
{
    extern __shared__ float row[];
    int i = blockIdx.x;
    for (int k = threadIdx.x; k < N; k += blockDim.x)
        row[k] = A[i * N + k];
    __syncthreads();
    for (int j = threadIdx.x; j < N; j += blockDim.x)
    {
        float sum = 0;
        for (int k = 0; k < N; k++)
            sum += row[k] * B[k * N + j];
        C[i * N + j] = sum;
    }
}

__global__ void mulColumn(const float *A, const float *B, float *C, int N)
{
    extern __shared__ float column[];
    int j = blockIdx.x;
    for (int k = threadIdx.x; k < N; k += blockDim.x)
        column[k] = B[k * N + j];
    __syncthreads();
    for (int i = threadIdx.x; i < N; i += blockDim.x)
    {
        float sum = 0;
        for (int k = 0; k < N; k++)
            sum += A[i * N + k] * column[k];
        C[i * N + j] = sum;
    }
}

__global__ void mulBlock(const float *A, const float *B, float *C, int N)
{
    __shared__ float a[S][S];
    __shared__ float b[S][S];
    int i = blockIdx.y * S + threadIdx.y;
    int j = blockIdx.x * S + threadIdx.x;
    float sum = 0;
    for (int m = 0; m < N; m += S)
    {
        a[threadIdx.y][threadIdx.x] = (i < N && m + threadIdx.x < N) ? A[i * N + m + threadIdx.x] : 0.0f;
        b[threadIdx.y][threadIdx.x] = (j < N && m + threadIdx.y < N) ? B[(m + threadIdx.y) * N + j] : 0.0f;
        __syncthreads();
#pragma unroll 1
        for (int k = 0; k < S; k++)
            sum += a[threadIdx.y][k] * b[k][threadIdx.x];
        __syncthreads();
    }
    if (i < N && j < N)
        C[i * N + j] = sum;
}

__global__ void mulUnrolled(const float *A, const float *B, float *C, int N)
{
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N || j >= N)
        return;
    float sum = 0;
    int k = 0;
    for (; k + 4 <= N; k += 4)
    {
        sum += A[i * N + k] * B[k * N + j];
        sum += A[i * N + k + 1] * B[(k + 1) * N + j];
        sum += A[i * N + k + 2] * B[(k + 2) * N + j];
        sum += A[i * N + k + 3] * B[(k + 3) * N + j];
    }
    for (; k < N; k++)
        sum += A[i * N + k] * B[k * N + j];
    C[i * N + j] = sum;
}

class Experiment
{
public:
    explicit Experiment(int n) : n(n), a(n * n), b(n * n), c(n * n), reference(n * n)
    {
        for (int i = 0; i < n * n; i++)
        {
            a[i] = float((i * 3) % 8);
            b[i] = float((i * 5) % 8);
        }
        CHECK(cudaMalloc(&dA, bytes()));
        CHECK(cudaMalloc(&dB, bytes()));
        CHECK(cudaMalloc(&dC, bytes()));
        CHECK(cudaMemcpy(dA, a.data(), bytes(), cudaMemcpyHostToDevice));
        CHECK(cudaMemcpy(dB, b.data(), bytes(), cudaMemcpyHostToDevice));
        multiplyOnCpu();
    }
    ~Experiment()
    {
        cudaFree(dA);
        cudaFree(dB);
        cudaFree(dC);
    }
    Result run(const std::string &name, int version)
    {
        dim3 square(S, S), tiles((n + S - 1) / S, (n + S - 1) / S);
        int threads = n < 128 ? n : 128;
        cudaEvent_t start, stop;
        CHECK(cudaEventCreate(&start));
        CHECK(cudaEventCreate(&stop));
        CHECK(cudaMemset(dC, 0, bytes()));
        CHECK(cudaEventRecord(start));
        if (version == 0)
            mulNaive<<<tiles, square>>>(dA, dB, dC, n);
        else if (version == 1)
            mulRow<<<n, threads, n * sizeof(float)>>>(dA, dB, dC, n);
        else if (version == 2)
            mulColumn<<<n, threads, n * sizeof(float)>>>(dA, dB, dC, n);
        else if (version == 3)
            mulBlock<<<tiles, square>>>(dA, dB, dC, n);
        else
            mulUnrolled<<<tiles, square>>>(dA, dB, dC, n);
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(stop));
        CHECK(cudaEventSynchronize(stop));
        float ms = 0;
        CHECK(cudaEventElapsedTime(&ms, start, stop));
        CHECK(cudaEventDestroy(start));
        CHECK(cudaEventDestroy(stop));
        CHECK(cudaMemcpy(c.data(), dC, bytes(), cudaMemcpyDeviceToHost));
        return {name, ms, equals()};
    }

private:
    size_t bytes() const { return size_t(n) * n * sizeof(float); }
    void multiplyOnCpu()
    {
        for (int i = 0; i < n; i++)
            for (int k = 0; k < n; k++)
                for (int j = 0; j < n; j++)
                    reference[i * n + j] += a[i * n + k] * b[k * n + j];
    }
    bool equals() const
    {
        for (int i = 0; i < n * n; i++)
            if (std::fabs(c[i] - reference[i]) > 1e-3f * std::fabs(reference[i]) + 1e-3f)
                return false;
        return true;
    }

    int n;
    std::vector<float> a, b, c, reference;
    float *dA = nullptr, *dB = nullptr, *dC = nullptr;
};

int main(int argc, char **argv)
{
    std::vector<int> sizes;
    for (int i = 1; i < argc; i++)
        sizes.push_back(atoi(argv[i]));
    if (sizes.empty())
        sizes = {32, 50};
    const char *names[] = {"naive", "row", "column", "block", "unrolled"};
    bool all = true;
    for (int n : sizes)
    {
        Experiment experiment(n);
        for (int version = 0; version < 5; version++)
        {
            Result result = experiment.run(names[version], version);
            double gflops = 2.0 * n * n * n / (result.ms * 1e6);
            printf("N = %d, %s: %s%s\n", n, result.name.c_str(), result.ok ? "ok" : "error", gflops > 0 ? "" : " ?");
            all = all && result.ok;
        }
    }
    return all ? 0 : 1;
}
