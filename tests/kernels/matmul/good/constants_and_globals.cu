// As the course sheet has it: constants, global arrays, kernels without parameters.
#include <stdio.h>

const int N = 1024;
#define S 16

__device__ float A[N][N];
__device__ float B[N][N];
__device__ float C[N][N];

__global__ void MatrMulKernel()
{
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
    for (int k = 0; k < N; k++)
        s += A[i][k] * B[k][j];
    C[i][j] = s;
}

__global__ void MatrMulRowKernel()
{
    __shared__ float t[N];
    int i = blockIdx.x, j = threadIdx.x;
    t[j] = A[i][j];
    __syncthreads();
    float s = 0;
    for (int k = 0; k < N; k++)
        s += t[k] * B[k][j];
    C[i][j] = s;
}

__global__ void MatrMulColKernel()
{
    __shared__ float t[N];
    int j = blockIdx.x, i = threadIdx.x;
    t[i] = B[i][j];
    __syncthreads();
    float s = 0;
    for (int k = 0; k < N; k++)
        s += A[i][k] * t[k];
    C[i][j] = s;
}

__global__ void MatrMulBlockKernel()
{
    __shared__ float AA[S][S];
    __shared__ float BB[S][S];
    int x = threadIdx.x, y = threadIdx.y;
    int i = blockIdx.y * S + y, j = blockIdx.x * S + x;
    float s = 0;
    for (int z = 0; z < N / S; z++) {
        AA[y][x] = A[i][z * S + x];
        BB[y][x] = B[z * S + y][j];
        __syncthreads();
        for (int k = 0; k < S; k++)
            s += AA[y][k] * BB[k][x];
        __syncthreads();
    }
    C[i][j] = s;
}

__global__ void MatrMulUnrollKernel()
{
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
    for (int k = 0; k < N; k += 4) {
        s += A[i][k] * B[k][j];
        s += A[i][k + 1] * B[k + 1][j];
        s += A[i][k + 2] * B[k + 2][j];
        s += A[i][k + 3] * B[k + 3][j];
    }
    C[i][j] = s;
}

int main()
{
    MatrMulKernel<<<dim3(N / S, N / S), dim3(S, S)>>>();
    MatrMulRowKernel<<<dim3(N), dim3(N)>>>();
    MatrMulColKernel<<<dim3(N), dim3(N)>>>();
    MatrMulBlockKernel<<<dim3(N / S, N / S), dim3(S, S)>>>();
    MatrMulUnrollKernel<<<dim3(N / S, N / S), dim3(S, S)>>>();
    printf("%s\n", cudaGetErrorString(cudaGetLastError()));
    return 0;
}
