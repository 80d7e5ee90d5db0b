#include <stdio.h>
#include <stdlib.h>
#include <cuda_runtime.h>
#define R 2
#define B 64
__global__ void boxblur_shared(const float* in, float* out, int n) {
    __shared__ float s[B + 2 * R];
    int g = blockIdx.x * blockDim.x + threadIdx.x, l = threadIdx.x + R;
    s[l] = g < n ? in[g] : 0;
    if (threadIdx.x < R) {
        s[l - R] = g - R >= 0 ? in[g - R] : 0;
        s[l + B] = g + B < n ? in[g + B] : 0;
    }
    __syncthreads();
    float sum = 0;
    for (int k = -R; k <= R; ++k) sum += s[l + k];
    if (g < n) out[g] = sum / (2 * R + 1);      // za krawedzia zera
}
int main() {
    int n = 300;
    float *h = (float*)malloc(n * 4), *a, *b;
    for (int i = 0; i < n; i++) h[i] = 10;
    if (cudaMalloc(&a, n * 4) || cudaMalloc(&b, n * 4)) return 1;
    if (cudaMemcpy(a, h, n * 4, cudaMemcpyHostToDevice)) return 1;
    boxblur_shared<<<(n + B - 1) / B, B>>>(a, b, n);
    if (cudaGetLastError()) return 1;
    if (cudaMemcpy(h, b, n * 4, cudaMemcpyDeviceToHost)) return 1;
    printf("%g %g %g %g\n", h[0], h[1], h[2], h[n - 1]);
    cudaFree(a); cudaFree(b); free(h);
    return 0;
}
