#include <cstdio>
#include <cstdlib>
#define T 16
const int cn = 512;
extern "C" __global__ void transpose_naive(const float *in, float *out) {
    int x = blockIdx.x * T + threadIdx.x, y = blockIdx.y * T + threadIdx.y;
    if (x < cn && y < cn) out[x * cn + y] = in[y * cn + x];
}
int main() {
    int n = 512; size_t b = n * n * sizeof(float);
    float *h = (float *)malloc(b), *r = (float *)malloc(b), *a, *o;
    for (int i = 0; i < n * n; i++) h[i] = i;
    cudaMalloc(&a, b); cudaMalloc(&o, b);
    cudaMemcpy(a, h, b, cudaMemcpyHostToDevice);
    
    transpose_naive<<<dim3((n + T - 1) / T, (n + T - 1) / T), dim3(T, T)>>>(a, o);
    if (cudaGetLastError() != cudaSuccess) return 1;
    cudaMemcpy(r, o, b, cudaMemcpyDeviceToHost);
    for (int i = 0; i < n * n; i++) if (r[i / n + i % n * n] != h[i]) { printf("bad\n"); return 1; }
    puts("ok"); cudaFree(a); cudaFree(o);
}
