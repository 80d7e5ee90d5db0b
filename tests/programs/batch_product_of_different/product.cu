#include <stdio.h>
#include <stdlib.h>
#define N 32
#define BATCH 4
#define T 16
// C_k = A_k * B_k for 8 matrices
__global__ void batchMul(const float *A, const float *B, float *C, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z;
    if (x >= n || y >= n) return;
    float s = 0;
    for (int k = 0; k < n; k++) s += A[z * n * n + y * n + k] * B[z * n * n + k * n + x];
    C[z * n * n + y * n + x] = s;
}
__global__ void batchMulShared(const float *A, const float *B, float *C, int n) {
    __shared__ float sa[T][T], sb[T][T];
    int x = blockIdx.x * T + threadIdx.x, y = blockIdx.y * T + threadIdx.y, z = blockIdx.z;
    float s = 0;
    for (int t = 0; t < (n + T - 1) / T; t++) {
        sa[threadIdx.y][threadIdx.x] = y < n && t * T + threadIdx.x < n ? A[z * n * n + y * n + t * T + threadIdx.x] : 0;
        sb[threadIdx.y][threadIdx.x] = x < n && t * T + threadIdx.y < n ? B[z * n * n + (t * T + threadIdx.y) * n + x] : 0;
        __syncthreads();
        for (int k = 0; k < T; k++) s += sa[threadIdx.y][k] * sb[k][threadIdx.x];
        __syncthreads();
    }
    if (x < n && y < n) C[z * n * n + y * n + x] = s;
}
int main() {
    size_t bytes = BATCH * N * N * sizeof(float);
    float *a = (float *)malloc(bytes), *b = (float *)malloc(bytes), *c = (float *)malloc(bytes), *da, *db, *dc;
    for (int i = 0; i < BATCH * N * N; i++) { a[i] = rand() / (float)RAND_MAX; b[i] = rand() / (float)RAND_MAX; }
    cudaMalloc(&da, bytes); cudaMalloc(&db, bytes); cudaMalloc(&dc, bytes);
    cudaMemcpy(da, a, bytes, cudaMemcpyHostToDevice); cudaMemcpy(db, b, bytes, cudaMemcpyHostToDevice);
    dim3 block(T, T), grid((N + T - 1) / T, (N + T - 1) / T, BATCH);
    batchMul<<<grid, block>>>(da, db, dc, N);
    cudaMemcpy(c, dc, bytes, cudaMemcpyDeviceToHost);
    batchMulShared<<<grid, block>>>(da, db, dc, N);
    cudaMemcpy(c, dc, bytes, cudaMemcpyDeviceToHost);
    printf("%f\n", c[0]);
    cudaFree(da); cudaFree(db); cudaFree(dc);
    return 0;
}
