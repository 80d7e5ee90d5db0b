// Version 1: tiles in shared memory. Its times only: what it computes was looked at by eye.
#include <cstdio>
#include <cstdlib>
#define T 16

__global__ void multiply(const float *A, const float *B, float *C, int n) {
    __shared__ float As[T][T], Bs[T][T];
    int col = blockIdx.x * T + threadIdx.x, row = blockIdx.y * T + threadIdx.y;
    float sum = 0;
    for (int t = 0; t < (n + T - 1) / T; t++) {
        int k = t * T + threadIdx.x, l = t * T + threadIdx.y;
        As[threadIdx.y][threadIdx.x] = row < n && k < n ? A[row * n + k] : 0.f;
        Bs[threadIdx.y][threadIdx.x] = l < n && col < n ? B[l * n + col] : 0.f;
        __syncthreads();
        for (int i = 0; i < T; i++) sum += As[threadIdx.y][i] * Bs[i][threadIdx.x];
        __syncthreads();
    }
    if (row < n && col < n) C[row * n + col] = sum;
}

int main() {
    const int n = 256, blocks = (n + T - 1) / T;
    float *a, *b, *c, *h = (float *)malloc(n * n * sizeof(float));
    for (int i = 0; i < n * n; i++) h[i] = rand() % 10;
    cudaMalloc((void **)&a, n * n * 4); cudaMalloc((void **)&b, n * n * 4); cudaMalloc((void **)&c, n * n * 4);
    cudaMemcpy(a, h, n * n * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(b, h, n * n * 4, cudaMemcpyHostToDevice);
    cudaEvent_t begin, end;
    cudaEventCreate(&begin); cudaEventCreate(&end);
    cudaEventRecord(begin);
    multiply<<<dim3(blocks, blocks), dim3(T, T)>>>(a, b, c, n);
    cudaEventRecord(end);
    cudaEventSynchronize(end);
    float ms;
    cudaEventElapsedTime(&ms, begin, end);
    cudaMemcpy(h, c, n * n * 4, cudaMemcpyDeviceToHost);
    printf("tiled: %f ms, first element %f\n", ms, h[0]);
    cudaFree(a); cudaFree(b); cudaFree(c);
    free(h);
}
