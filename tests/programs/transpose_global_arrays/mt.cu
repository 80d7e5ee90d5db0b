#include <stdio.h>
const int N = 64;
__device__ float A[N][N], T[N][N];
float host[N][N];
__global__ void fill() { A[blockIdx.x][threadIdx.x] = blockIdx.x * 100.f + threadIdx.x; }
__global__ void simple_transpose() { int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x; T[j][i] = A[i][j]; }
__global__ void padded_transpose() {
    __shared__ float s[32][33];
    int i = blockIdx.y * 32 + threadIdx.y, j = blockIdx.x * 32 + threadIdx.x;
    s[threadIdx.y][threadIdx.x] = A[i][j];
    __syncthreads();
    T[blockIdx.x * 32 + threadIdx.y][blockIdx.y * 32 + threadIdx.x] = s[threadIdx.x][threadIdx.y];
}
int check() { int bad = 0; cudaMemcpyFromSymbol(host, T, sizeof host); for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) bad += host[j][i] != i * 100.f + j; return bad; }
int main() {
    dim3 b(32, 32), g(N / 32, N / 32);
    fill<<<N, N>>>();
    simple_transpose<<<g, b>>>();
    printf("%d ", check());
    padded_transpose<<<g, b>>>();
    printf("%d\n", check());
    return 0;
}
