#include <cstdio>
#include <cstdlib>
#include <ctime>

typedef float T;

__global__ void simpleMultiply(T *A, T *B, T *C, int n)
{
    int tx = blockIdx.x * blockDim.x + threadIdx.x;
    int ty = blockIdx.y * blockDim.y + threadIdx.y;
    if (tx < n && ty < n)
        for (int k = 0; k < n; k++)
            C[ty * n + tx] += A[ty * n + k] * B[k * n + tx];
}

__global__ void tiledMultiply(T *A, T *B, T *C, int n)
{
    __shared__ T sA[8][8], sB[8][8];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * 8 + ty, col = blockIdx.x * 8 + tx;
    for (int p = 0; p < (n + 7) / 8; p++)
    {
        sA[ty][tx] = (row < n && p * 8 + tx < n) ? A[row * n + p * 8 + tx] : 0;
        sB[ty][tx] = (col < n && p * 8 + ty < n) ? B[(p * 8 + ty) * n + col] : 0;
        __syncthreads();
        T s = 0;
        for (int k = 0; k < 8; k++) s += sA[ty][k] * sB[k][tx];
        if (row < n && col < n) C[row * n + col] += s;
        __syncthreads();
    }
}

int main()
{
    const int n = 40;
    T *A, *B, *C, *dA, *dB, *dC;
    A = (T*)malloc(n * n * sizeof(T));
    B = (T*)malloc(n * n * sizeof(T));
    C = (T*)malloc(n * n * sizeof(T));
    for (int i = 0; i < n * n; i++) { A[i] = 1; B[i] = 2; C[i] = 0; }
    cudaMalloc(&dA, n * n * sizeof(T));
    cudaMalloc(&dB, n * n * sizeof(T));
    cudaMalloc(&dC, n * n * sizeof(T));
    cudaMemcpy(dA, A, n * n * sizeof(T), cudaMemcpyHostToDevice);
    cudaMemcpy(dB, B, n * n * sizeof(T), cudaMemcpyHostToDevice);
    cudaMemcpy(dC, C, n * n * sizeof(T), cudaMemcpyHostToDevice);   // обнуляем!
    dim3 t(8, 8), b(ceil(n / 8.0), ceil(n / 8.0));
    simpleMultiply<<<b, t>>>(dA, dB, dC, n);
    cudaMemcpy(C, dC, n * n * sizeof(T), cudaMemcpyDeviceToHost);
    printf("%f %f\n", C[0], C[n * n - 1]);
    cudaMemset(dC, 0, n * n * sizeof(T));
    tiledMultiply<<<b, t>>>(dA, dB, dC, n);
    cudaMemcpy(C, dC, n * n * sizeof(T), cudaMemcpyDeviceToHost);
    printf("%f %f\n", C[0], C[n * n - 1]);
    cudaFree(dA), cudaFree(dB), cudaFree(dC);
    free(A), free(B), free(C);
}
