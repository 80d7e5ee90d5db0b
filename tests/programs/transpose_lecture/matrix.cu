/*
 * Лабораторная работа 4. Транспонирование матрицы на GPU.
 * Запуск: ./matrix N threads
 *   N       - размер квадратной матрицы
 *   threads - сторона блока, N должно делиться на threads
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SH_DIM 32
#define MAX_BLOCKS 256

#define CUDA_CHECK_RETURN(value) {\
    cudaError_t _m_cudaStat = value;\
    if (_m_cudaStat != cudaSuccess) {\
        fprintf(stderr, "Error %s at line %d in file %s\n",\
            cudaGetErrorString(_m_cudaStat), __LINE__, __FILE__);\
        exit(1);\
    } }

/* значения элементов */
__global__ void gInitializeStorage(float* storage_d)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    int j = threadIdx.y + blockIdx.y * blockDim.y;
    int N = blockDim.x * gridDim.x;

    storage_d[i + j * N] = (float)(i + j * N);
}

/* без разделяемой памяти */
__global__ void gTranspose0(float* storage_d, float* storage_d_t)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    int j = threadIdx.y + blockIdx.y * blockDim.y;
    int N = blockDim.x * gridDim.x;

    storage_d_t[j + i * N] = storage_d[i + j * N];
}

/* динамически выделенная разделяемая память */
__global__ void gTranspose11(float* storage_d, float* storage_d_t)
{
    extern __shared__ float buffer[];
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    int j = threadIdx.y + blockIdx.y * blockDim.y;
    int N = blockDim.x * gridDim.x;

    buffer[threadIdx.y + threadIdx.x * blockDim.y] = storage_d[i + j * N];
    __syncthreads();

    i = threadIdx.x + blockIdx.y * blockDim.x;
    j = threadIdx.y + blockIdx.x * blockDim.y;
    storage_d_t[i + j * N] = buffer[threadIdx.x + threadIdx.y * blockDim.x];
}

/* статически выделенная */
__global__ void gTranspose12(float* storage_d, float* storage_d_t)
{
    __shared__ float buffer_s[SH_DIM][SH_DIM];
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    int j = threadIdx.y + blockIdx.y * blockDim.y;
    int N = blockDim.x * gridDim.x;

    buffer_s[threadIdx.y][threadIdx.x] = storage_d[i + j * N];
    __syncthreads();

    i = threadIdx.x + blockIdx.y * blockDim.x;
    j = threadIdx.y + blockIdx.x * blockDim.y;
    storage_d_t[i + j * N] = buffer_s[threadIdx.x][threadIdx.y];
}

/* без конфликтов банков */
__global__ void gTranspose2(float* storage_d, float* storage_d_t)
{
    __shared__ float buffer[SH_DIM][SH_DIM + 1];
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    int j = threadIdx.y + blockIdx.y * blockDim.y;
    int N = blockDim.x * gridDim.x;

    buffer[threadIdx.y][threadIdx.x] = storage_d[i + j * N];
    __syncthreads();

    i = threadIdx.x + blockIdx.y * blockDim.x;
    j = threadIdx.y + blockIdx.x * blockDim.y;
    storage_d_t[i + j * N] = buffer[threadIdx.x][threadIdx.y];
}

static void Output(const char* title, const float* a, int N)
{
    int show = N < 4 ? N : 4;
    printf("%s\n", title);
    for (int j = 0; j < show; j++) {
        for (int i = 0; i < show; i++)
            printf("%6g ", a[i + j * N]);
        printf("\n");
    }
}

static int Check(const float* a, const float* at, int N)
{
    int errors = 0;
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++)
            if (a[i + j * N] != at[j + i * N])
                errors++;
    return errors;
}

/* время ядра в миллисекундах, среднее по нескольким запускам */
typedef void (*kernel_t)(float*, float*);

static float Measure(kernel_t kernel, dim3 blocks, dim3 threads, size_t shared, float* in, float* out, int repeat)
{
    float total = 0;
    cudaEvent_t start, stop;
    CUDA_CHECK_RETURN(cudaEventCreate(&start));
    CUDA_CHECK_RETURN(cudaEventCreate(&stop));
    for (int i = 0; i < repeat; i++) {
        float ms;
        CUDA_CHECK_RETURN(cudaEventRecord(start, 0));
        kernel<<<blocks, threads, shared>>>(in, out);
        CUDA_CHECK_RETURN(cudaGetLastError());
        CUDA_CHECK_RETURN(cudaEventRecord(stop, 0));
        CUDA_CHECK_RETURN(cudaEventSynchronize(stop));
        CUDA_CHECK_RETURN(cudaEventElapsedTime(&ms, start, stop));
        total += ms;
    }
    CUDA_CHECK_RETURN(cudaEventDestroy(start));
    CUDA_CHECK_RETURN(cudaEventDestroy(stop));
    return total / repeat;
}

int main(int argc, char* argv[])
{
    if (argc < 3) {
        fprintf(stderr, "USAGE: matrix <dimension of matrix> <dimension_of_threads>\n");
        return -1;
    }

    int N = atoi(argv[1]);
    int dim_of_threads = atoi(argv[2]);
    if (N % dim_of_threads) {
        fprintf(stderr, "change dimensions\n");
        return -1;
    }
    int dim_of_blocks = N / dim_of_threads;
    if (dim_of_blocks > MAX_BLOCKS) {
        fprintf(stderr, "too many blocks\n");
        return -1;
    }
    if (dim_of_threads > SH_DIM) {
        fprintf(stderr, "too many threads\n");
        return -1;
    }

    float *storage_d, *storage_d_t, *storage_h, *storage_h_t;
    CUDA_CHECK_RETURN(cudaMalloc((void**)&storage_d, N * N * sizeof(float)));
    CUDA_CHECK_RETURN(cudaMalloc((void**)&storage_d_t, N * N * sizeof(float)));
    storage_h = (float*)calloc(N * N, sizeof(float));
    storage_h_t = (float*)calloc(N * N, sizeof(float));

    dim3 blocks(dim_of_blocks, dim_of_blocks), threads(dim_of_threads, dim_of_threads);
    gInitializeStorage<<<blocks, threads>>>(storage_d);
    CUDA_CHECK_RETURN(cudaDeviceSynchronize());
    CUDA_CHECK_RETURN(cudaGetLastError());
    CUDA_CHECK_RETURN(cudaMemcpy(storage_h, storage_d, N * N * sizeof(float), cudaMemcpyDeviceToHost));
    Output("исходная матрица", storage_h, N);

    gTranspose0<<<blocks, threads>>>(storage_d, storage_d_t);
    CUDA_CHECK_RETURN(cudaDeviceSynchronize());
    CUDA_CHECK_RETURN(cudaGetLastError());
    CUDA_CHECK_RETURN(cudaMemcpy(storage_h_t, storage_d_t, N * N * sizeof(float), cudaMemcpyDeviceToHost));
    Output("gTranspose0", storage_h_t, N);
    printf("ошибок: %d\n", Check(storage_h, storage_h_t, N));

    CUDA_CHECK_RETURN(cudaMemset(storage_d_t, 0, N * N * sizeof(float)));
    gTranspose11<<<blocks, threads, dim_of_threads * dim_of_threads * sizeof(float)>>>(storage_d, storage_d_t);
    CUDA_CHECK_RETURN(cudaDeviceSynchronize());
    CUDA_CHECK_RETURN(cudaGetLastError());
    CUDA_CHECK_RETURN(cudaMemcpy(storage_h_t, storage_d_t, N * N * sizeof(float), cudaMemcpyDeviceToHost));
    printf("gTranspose11, ошибок: %d\n", Check(storage_h, storage_h_t, N));

    CUDA_CHECK_RETURN(cudaMemset(storage_d_t, 0, N * N * sizeof(float)));
    gTranspose12<<<blocks, threads>>>(storage_d, storage_d_t);
    CUDA_CHECK_RETURN(cudaDeviceSynchronize());
    CUDA_CHECK_RETURN(cudaGetLastError());
    CUDA_CHECK_RETURN(cudaMemcpy(storage_h_t, storage_d_t, N * N * sizeof(float), cudaMemcpyDeviceToHost));
    printf("gTranspose12, ошибок: %d\n", Check(storage_h, storage_h_t, N));

    CUDA_CHECK_RETURN(cudaMemset(storage_d_t, 0, N * N * sizeof(float)));
    gTranspose2<<<blocks, threads>>>(storage_d, storage_d_t);
    CUDA_CHECK_RETURN(cudaDeviceSynchronize());
    CUDA_CHECK_RETURN(cudaGetLastError());
    CUDA_CHECK_RETURN(cudaMemcpy(storage_h_t, storage_d_t, N * N * sizeof(float), cudaMemcpyDeviceToHost));
    printf("gTranspose2, ошибок: %d\n", Check(storage_h, storage_h_t, N));

    /* сводная таблица */
    {
        size_t shared = dim_of_threads * dim_of_threads * sizeof(float);
        float ms[4];
        ms[0] = Measure(gTranspose0, blocks, threads, 0, storage_d, storage_d_t, 2);
        ms[1] = Measure(gTranspose11, blocks, threads, shared, storage_d, storage_d_t, 2);
        ms[2] = Measure(gTranspose12, blocks, threads, 0, storage_d, storage_d_t, 2);
        ms[3] = Measure(gTranspose2, blocks, threads, 0, storage_d, storage_d_t, 2);
        for (int k = 0; k < 4; k++)
            if (!(ms[k] > 0))
                printf("нет времени у ядра %d\n", k);
    }

    cudaFree(storage_d);
    cudaFree(storage_d_t);
    free(storage_h);
    free(storage_h_t);
    return 0;
}
