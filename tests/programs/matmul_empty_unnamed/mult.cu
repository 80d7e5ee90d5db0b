#include <stdio.h>
#include <stdlib.h>
#define N 64
__global__ void mult(const float *a, const float *b, float *c, int n) {
    // TODO: each thread computes one element
}
__global__ void slow(const float *a, const float *b, float *c, int n) {
    for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { float s = 0; for (int k = 0; k < n; k++) s += a[i * n + k] * b[k * n + j]; c[i * n + j] = s; }
}
int main() {
    float *a, *b, *c;
    cudaMallocManaged(&a, N * N * 4); cudaMallocManaged(&b, N * N * 4); cudaMallocManaged(&c, N * N * 4);
    for (int i = 0; i < N * N; i++) { a[i] = i % 3; b[i] = i % 5; }
    dim3 t(16, 16), g(N / 16, N / 16);
    mult<<<g, t>>>(a, b, c, N);
    cudaDeviceSynchronize();
    printf("%f\n", 0.0 * (c[0] != 0));
}
