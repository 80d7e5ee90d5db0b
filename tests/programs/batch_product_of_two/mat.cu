/* Умножение пар матриц: C[i] = A[i] * B[i] */
#include <iostream>
#include <cstdlib>
#include <cuda_runtime.h>

__global__ void multiplyBatch(const float* A, const float* B, float* C, int n, int batch)
{
    int id = blockDim.x * blockIdx.x + threadIdx.x;
    if (id < batch)
    {
        const float* a = A + id * n * n;
        const float* b = B + id * n * n;
        float* c = C + id * n * n;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
            {
                float s = 0;
                for (int k = 0; k < n; k++)
                    s += a[i * n + k] * b[k * n + j];
                c[i * n + j] = s;
            }
    }
}

int main(int argc, char** argv)
{
    int n = (argc > 1) ? std::atoi(argv[1]) : 4, batch = 600;
    size_t bytes = sizeof(float) * n * n * batch;
    float* A = new float[n * n * batch];
    float* C = new float[n * n * batch];
    for (int i = 0; i < n * n * batch; i++) A[i] = (i % 3) * 0.25f;
    float *dA, *dB, *dC;
    cudaMalloc(&dA, bytes); cudaMalloc(&dB, bytes); cudaMalloc(&dC, bytes);
    cudaMemcpy(dA, A, bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(dB, A, bytes, cudaMemcpyHostToDevice);   // квадрат: B = A
    multiplyBatch<<<(batch + 127) / 128, 128>>>(dA, dB, dC, n, batch);
    if (cudaDeviceSynchronize() != cudaSuccess) { std::cout << "ошибка\n"; return 1; }
    cudaMemcpy(C, dC, bytes, cudaMemcpyDeviceToHost);
    float worst = 0;
    for (int m = 0; m < batch; m++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
            {
                float s = 0;
                for (int k = 0; k < n; k++) s += A[m * n * n + i * n + k] * A[m * n * n + k * n + j];
                worst = std::max(worst, std::abs(s - C[m * n * n + i * n + j]));
            }
    std::cout << (worst == 0 ? "совпало" : "не совпало") << std::endl;
    cudaFree(dA); cudaFree(dB); cudaFree(dC);
    delete[] A;
    delete[] C;
}
