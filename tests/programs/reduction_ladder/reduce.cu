// Параллельная редукция: шесть шагов оптимизации, как на лекции.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

#define BLOCK 128

#define SAFE_CALL(call)                                              \
    do                                                               \
    {                                                                \
        cudaError_t code = (call);                                   \
        if (code != cudaSuccess)                                     \
        {                                                            \
            fprintf(stderr, "%s, строка %d\n",                       \
                    cudaGetErrorString(code), __LINE__);             \
            exit(EXIT_FAILURE);                                      \
        }                                                            \
    } while (0)

// 0. Деление с остатком: сильное ветвление
__global__ void reduce0(const int *in, int *out, int n)
{
    __shared__ int data[BLOCK];
    int tid = threadIdx.x;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    data[tid] = i < n ? in[i] : 0;
    __syncthreads();
    for (int s = 1; s < blockDim.x; s *= 2)
    {
        if (tid % (2 * s) == 0)
            data[tid] += data[tid + s];
        __syncthreads();
    }
    if (tid == 0)
        out[blockIdx.x] = data[0];
}

// 1. Без ветвления, но с конфликтами банков
__global__ void reduce1(const int *in, int *out, int n)
{
    __shared__ int data[BLOCK];
    int tid = threadIdx.x;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    data[tid] = i < n ? in[i] : 0;
    __syncthreads();
    for (int s = 1; s < blockDim.x; s *= 2)
    {
        int index = 2 * s * tid;
        if (index < blockDim.x)
            data[index] += data[index + s];
        __syncthreads();
    }
    if (tid == 0)
        out[blockIdx.x] = data[0];
}

// 2. Последовательная адресация
__global__ void reduce2(const int *in, int *out, int n)
{
    __shared__ int data[BLOCK];
    int tid = threadIdx.x;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    data[tid] = i < n ? in[i] : 0;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1)
    {
        if (tid < s)
            data[tid] += data[tid + s];
        __syncthreads();
    }
    if (tid == 0)
        out[blockIdx.x] = data[0];
}

// 3. Первое сложение при загрузке
__global__ void reduce3(const int *in, int *out, int n)
{
    __shared__ int data[BLOCK];
    int tid = threadIdx.x;
    int i = blockIdx.x * (blockDim.x * 2) + threadIdx.x;
    int value = i < n ? in[i] : 0;
    if (i + blockDim.x < n)
        value += in[i + blockDim.x];
    data[tid] = value;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1)
    {
        if (tid < s)
            data[tid] += data[tid + s];
        __syncthreads();
    }
    if (tid == 0)
        out[blockIdx.x] = data[0];
}

// 4. Последний варп через обмен регистрами
__inline__ __device__ int warpSum(int value)
{
    for (int offset = 16; offset > 0; offset /= 2)
        value += __shfl_down_sync(0xffffffff, value, offset);
    return value;
}

__global__ void reduce4(const int *in, int *out, int n)
{
    __shared__ int sums[32];
    int value = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        value += in[i];
    value = warpSum(value);
    if (threadIdx.x % 32 == 0)
        sums[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x < 32)
    {
        value = threadIdx.x < blockDim.x / 32 ? sums[threadIdx.x] : 0;
        value = warpSum(value);
        if (threadIdx.x == 0)
            out[blockIdx.x] = value;
    }
}

// 5. Атомарное сложение
__global__ void reduce5(const int *in, int *out, int n)
{
    int value = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        value += in[i];
    value = warpSum(value);
    if (threadIdx.x % 32 == 0)
        atomicAdd(out, value);
}

typedef void (*Kernel)(const int *, int *, int);

struct Step
{
    const char *name;
    Kernel kernel;
    int per_block; // элементов на блок
    bool final;    // результат уже один
};

static long long onCpu(const int *data, int n)
{
    long long sum = 0;
    for (int i = 0; i < n; i++)
        sum += data[i];
    return sum;
}

static long long run(const Step &step, const int *d_in, int *d_out, int *h_out, int n)
{
    int blocks = (n + step.per_block - 1) / step.per_block;
    SAFE_CALL(cudaMemset(d_out, 0, blocks * sizeof(int)));
    step.kernel<<<blocks, BLOCK>>>(d_in, d_out, n);
    SAFE_CALL(cudaGetLastError());
    SAFE_CALL(cudaMemcpy(h_out, d_out, blocks * sizeof(int), cudaMemcpyDeviceToHost));
    return step.final ? h_out[0] : onCpu(h_out, blocks);
}

int main(int argc, char **argv)
{
    int n = 5000;
    if (argc == 2)
    {
        n = atoi(argv[1]);
        if (n <= 0)
        {
            printf("Размер должен быть положительным\n");
            return 2;
        }
    }
    const Step steps[] = {
        {"деление с остатком", reduce0, BLOCK, false},
        {"без ветвления", reduce1, BLOCK, false},
        {"последовательная адресация", reduce2, BLOCK, false},
        {"сложение при загрузке", reduce3, 2 * BLOCK, false},
        {"обмен в варпе", reduce4, 8 * BLOCK, false},
        {"атомарная", reduce5, 8 * BLOCK, true},
    };
    int *h_in = (int *)malloc(n * sizeof(int));
    int *h_out = (int *)malloc(n * sizeof(int));
    for (int i = 0; i < n; i++)
        h_in[i] = i % 17 - 8;
    int *d_in, *d_out;
    SAFE_CALL(cudaMalloc((void **)&d_in, n * sizeof(int)));
    SAFE_CALL(cudaMalloc((void **)&d_out, n * sizeof(int)));
    SAFE_CALL(cudaMemcpy(d_in, h_in, n * sizeof(int), cudaMemcpyHostToDevice));
    long long expected = onCpu(h_in, n);
    int failed = 0;
    for (size_t k = 0; k < sizeof(steps) / sizeof(steps[0]); k++)
    {
        bool ok = run(steps[k], d_in, d_out, h_out, n) == expected;
        printf("%zu. %s: %s\n", k, steps[k].name, ok ? "верно" : "НЕВЕРНО");
        failed += !ok;
    }
    SAFE_CALL(cudaFree(d_in));
    SAFE_CALL(cudaFree(d_out));
    free(h_in);
    free(h_out);
    return failed;
}
