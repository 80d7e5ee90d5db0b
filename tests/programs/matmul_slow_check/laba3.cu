// Лабораторная работа 3: умножение матриц, размеры заданы константами.  Проверка на процессоре идёт долго.
#include <cmath>
#include <cstdio>
#include <cstdlib>

constexpr int SIZE = 768;
constexpr int BS = 16;

#define TIME(launch, label)                                             \
    do {                                                                \
        cudaEventRecord(from);                                          \
        launch;                                                         \
        cudaEventRecord(to);                                            \
        if (cudaGetLastError() != cudaSuccess) return 1;                \
        if (cudaEventSynchronize(to) != cudaSuccess) return 1;          \
        float ms = 0;                                                   \
        cudaEventElapsedTime(&ms, from, to);                            \
        cudaMemcpy(host_c, c, bytes, cudaMemcpyDeviceToHost);           \
        printf("%-8s %8.3f мс, ошибок %d\n", label, ms, differ(host_c, right)); \
    } while (0)

__global__ void mul_global(const float *a, const float *b, float *c)
{
    const int x = BS * blockIdx.x + threadIdx.x, y = BS * blockIdx.y + threadIdx.y;
    float acc = 0.f;
    for (int t = 0; t < SIZE; t++) acc = fmaf(a[y * SIZE + t], b[t * SIZE + x], acc);
    c[y * SIZE + x] = acc;
}

// Блок на строку: нити идут по столбцам с шагом в размер блока.
__global__ void mul_row(const float *a, const float *b, float *c)
{
    __shared__ float line[SIZE];
    const int y = blockIdx.x;
    for (int t = threadIdx.x; t < SIZE; t += blockDim.x) line[t] = a[y * SIZE + t];
    __syncthreads();
    for (int x = threadIdx.x; x < SIZE; x += blockDim.x) {
        float acc = 0.f;
        for (int t = 0; t < SIZE; t++) acc += line[t] * b[t * SIZE + x];
        c[y * SIZE + x] = acc;
    }
}

__global__ void mul_block(const float *a, const float *b, float *c)
{
    __shared__ float ta[BS][BS], tb[BS][BS];
    const int x = BS * blockIdx.x + threadIdx.x, y = BS * blockIdx.y + threadIdx.y;
    float acc = 0.f;
    for (int step = 0; step < SIZE / BS; step++) {
        ta[threadIdx.y][threadIdx.x] = a[y * SIZE + step * BS + threadIdx.x];
        tb[threadIdx.y][threadIdx.x] = b[(step * BS + threadIdx.y) * SIZE + x];
        __syncthreads();
        for (int t = 0; t < BS; t++) acc += ta[threadIdx.y][t] * tb[t][threadIdx.x];
        __syncthreads();
    }
    c[y * SIZE + x] = acc;
}

static int differ(const float *one, const float *other)
{
    int count = 0;
    for (int i = 0; i < SIZE * SIZE; i++) count += std::fabs(one[i] - other[i]) > 1e-2f;
    return count;
}

int main()
{
    const size_t bytes = sizeof(float) * SIZE * SIZE;
    float *host_a = (float *)malloc(bytes), *host_b = (float *)malloc(bytes);
    float *host_c = (float *)malloc(bytes), *right = (float *)malloc(bytes);
    for (int i = 0; i < SIZE * SIZE; i++) {
        host_a[i] = (i * 7 % 13) * 0.1f;
        host_b[i] = (i * 5 % 11) * 0.1f;
    }
    for (int y = 0; y < SIZE; y++)
        for (int x = 0; x < SIZE; x++) {
            float acc = 0.f;
            for (int t = 0; t < SIZE; t++) acc += host_a[y * SIZE + t] * host_b[t * SIZE + x];
            right[y * SIZE + x] = acc;
        }

    float *a, *b, *c;
    cudaMalloc(&a, bytes);
    cudaMalloc(&b, bytes);
    cudaMalloc(&c, bytes);
    cudaMemcpy(a, host_a, bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(b, host_b, bytes, cudaMemcpyHostToDevice);
    cudaEvent_t from, to;
    cudaEventCreate(&from);
    cudaEventCreate(&to);

    const dim3 grid(SIZE / BS, SIZE / BS), block(BS, BS);
    TIME((mul_global<<<grid, block>>>(a, b, c)), "global");
    TIME((mul_row<<<SIZE, 256>>>(a, b, c)), "row");
    TIME((mul_block<<<grid, block>>>(a, b, c)), "block");

    cudaFree(a);
    cudaFree(b);
    cudaFree(c);
    free(host_a);
    free(host_b);
    free(host_c);
    free(right);
    return 0;
}
