#include <stdio.h>
#include <stdlib.h>
#define MASK_WIDTH 5
#define TILE 256
__constant__ float M[MASK_WIDTH];
__global__ void conv_simple(const float *N, float *P, int width) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= width) return;
    float p = 0; int start = i - MASK_WIDTH / 2;
    for (int j = 0; j < MASK_WIDTH; j++) if (start + j >= 0 && start + j < width) p += N[start + j] * M[j];
    P[i] = p;
}
__global__ void conv_tiled(const float *N, float *P, int width) {
    __shared__ float s[TILE + MASK_WIDTH - 1];
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = MASK_WIDTH / 2;
    int l = (blockIdx.x - 1) * blockDim.x + threadIdx.x;
    if (threadIdx.x >= blockDim.x - n) s[threadIdx.x - (blockDim.x - n)] = l < 0 ? 0 : N[l];
    s[n + threadIdx.x] = i < width ? N[i] : 0;
    int r = (blockIdx.x + 1) * blockDim.x + threadIdx.x;
    if (threadIdx.x < n) s[n + blockDim.x + threadIdx.x] = r >= width ? 0 : N[r];
    __syncthreads();
    float p = 0;
    for (int j = 0; j < MASK_WIDTH; j++) p += s[threadIdx.x + j] * M[j];
    if (i < width) P[i] = p;
}
int main() {
    int n = 4096; size_t bytes = n * sizeof(float);
    float *a = (float *)malloc(bytes), *b = (float *)malloc(bytes), m[MASK_WIDTH] = {3, 4, 5, 4, 3}, *da, *db;
    for (int i = 0; i < n; i++) a[i] = rand() % 100;
    cudaMalloc(&da, bytes); cudaMalloc(&db, bytes);
    cudaMemcpy(da, a, bytes, cudaMemcpyHostToDevice);
    cudaMemcpyToSymbol(M, m, sizeof(m));
    conv_simple<<<(n + TILE - 1) / TILE, TILE>>>(da, db, n);
    cudaMemcpy(b, db, bytes, cudaMemcpyDeviceToHost);
    conv_tiled<<<(n + TILE - 1) / TILE, TILE>>>(da, db, n);
    cudaMemcpy(b, db, bytes, cudaMemcpyDeviceToHost);
    printf("%f\n", b[10]);
    return 0;
}
