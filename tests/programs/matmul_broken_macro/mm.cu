#include <stdio.h>
#include <cuda_runtime.h>

#define CHECK(call)
{
    const cudaError_t error = call;
    if (error != cudaSuccess)
    {
        printf("Error: %s:%d\n", __FILE__, __LINE__);
        exit(1);
    }
}

__global__ void matMul(float *A, float *B, float *C, int n)
{
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && j < n)
    {
        float s = 0.0f;
        for (int k = 0; k < n; k++) s += A[i * n + k] * B[k * n + j];
        C[i * n + j] = s;
    }
}

int main()
{
    int n = 32;
    float *a, *b, *c;
    CHECK(cudaMallocManaged(&a, n * n * sizeof(float)));
    CHECK(cudaMallocManaged(&b, n * n * sizeof(float)));
    CHECK(cudaMallocManaged(&c, n * n * sizeof(float)));
    matMul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n);
    CHECK(cudaDeviceSynchronize());
    return 0;
}
