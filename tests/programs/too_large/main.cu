// A multiplication of 4096 x 4096 matrices by one thread an element: recorded, not executed.
#include <cstdio>
#include <cstdlib>
#define N 4096

__global__ void multiply(const float* a, const float* b, float* c) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < N; k++) sum += a[row * N + k] * b[k * N + column];
    c[row * N + column] = sum;
}

int main() {
    float *a, *b, *c;
    size_t bytes = (size_t)N * N * sizeof(float);
    cudaMalloc(&a, bytes);
    cudaMalloc(&b, bytes);
    cudaMalloc(&c, bytes);
    cudaMemset(a, 0, bytes);
    cudaMemset(b, 0, bytes);
    multiply<<<dim3(N / 16, N / 16), dim3(16, 16)>>>(a, b, c);
    printf("%d\n", (int)cudaDeviceSynchronize());
    cudaFree(a);
    cudaFree(b);
    cudaFree(c);
}
