// Транспонирование квадратной матрицы, Петрова А., ИП-312
#include <stdio.h>
#include <stdlib.h>

const int BLOCK = 32;

__global__ void transp_simple(float *a, float *b)
{
    int n = gridDim.x * blockDim.x;
    int x = threadIdx.x + blockDim.x * blockIdx.x;
    int y = threadIdx.y + blockDim.y * blockIdx.y;
    b[y + x * n] = a[x + y * n];
}

// общая память выделяется при запуске
__global__ void transp_shared(float *a, float *b)
{
    extern __shared__ float buf[];
    int n = gridDim.x * blockDim.x;
    int x = threadIdx.x + blockDim.x * blockIdx.x;
    int y = threadIdx.y + blockDim.y * blockIdx.y;

    buf[threadIdx.x + threadIdx.y * blockDim.x] = a[x + y * n];
    __syncthreads();

    x = threadIdx.x + blockDim.x * blockIdx.y;
    y = threadIdx.y + blockDim.y * blockIdx.x;
    b[x + y * n] = buf[threadIdx.y + threadIdx.x * blockDim.x];
}

// без конфликтов банков
__global__ void transp_padded(float *a, float *b)
{
    __shared__ float buf[BLOCK][BLOCK];
    int n = gridDim.x * blockDim.x;
    int x = threadIdx.x + blockDim.x * blockIdx.x;
    int y = threadIdx.y + blockDim.y * blockIdx.y;

    buf[threadIdx.y][threadIdx.x] = a[x + y * n];
    __syncthreads();

    x = threadIdx.x + blockDim.x * blockIdx.y;
    y = threadIdx.y + blockDim.y * blockIdx.x;
    b[x + y * n] = buf[threadIdx.x][threadIdx.y];
}

int main(int argc, char *argv[])
{
    int n = argc > 1 ? atoi(argv[1]) : 1024;
    if (n % BLOCK) {
        printf("n должно делиться на %d\n", BLOCK);
        return 1;
    }
    size_t size = sizeof(float) * n * n;
    float *h = (float *)malloc(size);
    for (int i = 0; i < n * n; i++)
        h[i] = i;

    float *a, *b;
    cudaMalloc((void **)&a, size);
    cudaMalloc((void **)&b, size);
    cudaMemcpy(a, h, size, cudaMemcpyHostToDevice);

    dim3 threads(BLOCK, BLOCK);
    dim3 blocks(n / BLOCK, n / BLOCK);
    transp_simple<<<blocks, threads>>>(a, b);
    cudaDeviceSynchronize();
    transp_shared<<<blocks, threads, BLOCK * BLOCK * sizeof(float)>>>(a, b);
    cudaDeviceSynchronize();
    transp_padded<<<blocks, threads>>>(a, b);
    cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorString(cudaGetLastError()));

    cudaMemcpy(h, b, size, cudaMemcpyDeviceToHost);
    printf("%f %f\n", h[1], h[n]);
    cudaFree(a);
    cudaFree(b);
    free(h);
    return 0;
}
