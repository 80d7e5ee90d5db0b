#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <sys/time.h>
#define CUDA_SAFE(x) { cudaError_t e = x; if (e != cudaSuccess) { printf("%s\n", cudaGetErrorString(e)); exit(1); } }
__global__ void gemm(double *A, double *B, double *C, int n)
{
    int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= n || c >= n) return;
    double s = 0.0;
    for (int k = 0; k < n; ++k) s += A[r * n + k] * B[k * n + c];
    C[r * n + c] = s;
}
int main()
{
    int n = 45;
    size_t bytes = n * n * sizeof(double);
    double *a = (double *)malloc(bytes), *c = (double *)malloc(bytes), *dA, *dC;
    struct timeval begin, end;
    for (int i = 0; i < n * n; i++) a[i] = i % 4;
    CUDA_SAFE(cudaMalloc(&dA, bytes));
    CUDA_SAFE(cudaMalloc(&dC, bytes));
    CUDA_SAFE(cudaMemcpy(dA, a, bytes, cudaMemcpyHostToDevice));
    dim3 threads(16, 16), blocks((int)ceil(n / 16.0), (int)ceil(n / 16.0));
    gettimeofday(&begin, 0);
    gemm<<<blocks, threads>>>(dA, dA, dC, n);
    CUDA_SAFE(cudaGetLastError());
    CUDA_SAFE(cudaDeviceSynchronize());
    gettimeofday(&end, 0);
    CUDA_SAFE(cudaMemcpy(c, dC, bytes, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
        {
            double s = 0;
            for (int k = 0; k < n; k++) s += a[i * n + k] * a[k * n + j];
            if (fabs(s - c[i * n + j]) > 1e-9) { printf("неверно\n"); return 1; }
        }
    printf("верно\n");
    cudaFree(dA); cudaFree(dC); free(a); free(c);
    return end.tv_sec < begin.tv_sec;
}
