// A row more in place of a column more; kernels counted from 1.
#include <stdio.h>
#define N 1024
#define BS 32
__global__ void transpose1(float *a, float *b)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    b[i * N + j] = a[j * N + i];
}
__global__ void transpose2(float *a, float *b)
{
    __shared__ float s[BS][BS];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    s[threadIdx.y][threadIdx.x] = a[j * N + i];
    __syncthreads();
    i = blockIdx.y * blockDim.y + threadIdx.x;
    j = blockIdx.x * blockDim.x + threadIdx.y;
    b[j * N + i] = s[threadIdx.x][threadIdx.y];
}
__global__ void transpose3(float *a, float *b)
{
    __shared__ float s[BS + 1][BS];   // against bank conflicts
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    s[threadIdx.y][threadIdx.x] = a[j * N + i];
    __syncthreads();
    i = blockIdx.y * blockDim.y + threadIdx.x;
    j = blockIdx.x * blockDim.x + threadIdx.y;
    b[j * N + i] = s[threadIdx.x][threadIdx.y];
}
int main()
{
    float *da, *db;
    cudaMalloc((void **)&da, N * N * sizeof(float));
    cudaMalloc((void **)&db, N * N * sizeof(float));
    transpose1<<<dim3(N / BS, N / BS), dim3(BS, BS)>>>(da, db);
    transpose2<<<dim3(N / BS, N / BS), dim3(BS, BS)>>>(da, db);
    transpose3<<<dim3(N / BS, N / BS), dim3(BS, BS)>>>(da, db);
}
