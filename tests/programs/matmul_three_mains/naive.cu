// Version 0: each thread computes one element. ./naive [n]
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void multiply(const float *A, const float *B, float *C, int n) {
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= n || col >= n) return;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += A[row * n + k] * B[k * n + col];
    C[row * n + col] = sum;
}

int main(int argc, char **argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 160;
    const size_t bytes = sizeof(float) * n * n;
    std::vector<float> a(n * n), b(n * n), c(n * n);
    for (int i = 0; i < n * n; i++) a[i] = i % 7, b[i] = i % 5;
    float *da, *db, *dc;
    cudaMalloc(&da, bytes); cudaMalloc(&db, bytes); cudaMalloc(&dc, bytes);
    cudaMemcpy(da, a.data(), bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(db, b.data(), bytes, cudaMemcpyHostToDevice);
    multiply<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(da, db, dc, n);
    if (cudaGetLastError() != cudaSuccess) { puts("launch failed"); return 1; }
    cudaMemcpy(c.data(), dc, bytes, cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            float want = 0;
            for (int k = 0; k < n; k++) want += a[i * n + k] * b[k * n + j];
            wrong += fabs(c[i * n + j] - want) > 1e-2;
        }
    printf("naive: %d wrong\n", wrong);
    cudaFree(da); cudaFree(db); cudaFree(dc);
    return wrong != 0;
}
