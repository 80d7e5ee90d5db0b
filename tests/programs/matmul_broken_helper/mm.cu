#include <stdio.h>
#define N 64
#define T 16
int check(float *c, int n { return c[0] > 0; }
__global__ void matmulNaive(const float *a, const float *b, float *c, int n) {
    int r = blockIdx.y * blockDim.y + threadIdx.y, q = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < n && q < n) { float s = 0; for (int k = 0; k < n; k++) s += a[r * n + k] * b[k * n + q]; c[r * n + q] = s; }
}
int main() {
    float *a, *b, *c;
    cudaMallocManaged(&a, N * N * 4); cudaMallocManaged(&b, N * N * 4); cudaMallocManaged(&c, N * N * 4);
    for (int i = 0; i < N * N; i++) { a[i] = i % 3; b[i] = i % 5; }
    dim3 t(T, T), g((N + T - 1) / T, (N + T - 1) / T);
    matmulNaive<<<g, t>>>(a, b, c, N);
    cudaDeviceSynchronize();
    printf("%f\n", c[0]);
}
