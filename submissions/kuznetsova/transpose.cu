/* Лабораторная работа № 4. Кузнецова М., ИП-311 */
#include <stdio.h>
#include <cuda_runtime.h>

#define T 32
#define N 512

__global__ void kernel_global(const float *in, float *out, int n)
{
    int i = blockIdx.y * T + threadIdx.y;
    int j = blockIdx.x * T + threadIdx.x;
    if (i < n && j < n)
        out[j * n + i] = in[i * n + j];
}

__global__ void kernel_shared(const float *in, float *out, int n)
{
    __shared__ float s[T][T];
    int i = blockIdx.y * T + threadIdx.y;
    int j = blockIdx.x * T + threadIdx.x;
    if (i < n && j < n)
        s[threadIdx.y][threadIdx.x] = in[i * n + j];
    __syncthreads();
    i = blockIdx.x * T + threadIdx.y;
    j = blockIdx.y * T + threadIdx.x;
    if (i < n && j < n)
        out[i * n + j] = s[threadIdx.x][threadIdx.y];
}

__global__ void kernel_no_conflicts(const float *in, float *out, int n)
{
    __shared__ float s[T][T + 1];
    int i = blockIdx.y * T + threadIdx.y;
    int j = blockIdx.x * T + threadIdx.x;
    if (i < n && j < n)
        s[threadIdx.y][threadIdx.x] = in[i * n + j];
    __syncthreads();
    if (i < n && j < n)
        out[i * n + j] = s[threadIdx.x][threadIdx.y];
}

float h[N * N], r[N * N];

int main(void)
{
    float *d_in, *d_out;
    for (int i = 0; i < N * N; i++)
        h[i] = (float)i;
    cudaMalloc((void **)&d_in, sizeof(h));
    cudaMalloc((void **)&d_out, sizeof(h));
    cudaMemcpy(d_in, h, sizeof(h), cudaMemcpyHostToDevice);
    kernel_global<<<dim3(N / T, N / T), dim3(T, T)>>>(d_in, d_out, N);
    kernel_shared<<<dim3(N / T, N / T), dim3(T, T)>>>(d_in, d_out, N);
    kernel_no_conflicts<<<dim3(N / T, N / T), dim3(T, T)>>>(d_in, d_out, N);
    cudaMemcpy(r, d_out, sizeof(r), cudaMemcpyDeviceToHost);
    /* проверка первого блока */
    for (int i = 0; i < T; i++)
        for (int j = 0; j < T; j++)
            if (r[i * N + j] != h[j * N + i])
                printf("error %d %d\n", i, j);
    cudaFree(d_in);
    cudaFree(d_out);
    return 0;
}
