#include <stdio.h>
__global__ void sum(const int *a, int *total, int n) { int i = threadIdx.x; if (i < n) *total += a[i]; }
int main() {
    int h[64], *a, *t, r = 0;
    for (int i = 0; i < 64; i++) h[i] = 1;
    cudaMalloc(&a, sizeof h); cudaMalloc(&t, sizeof r);
    cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
    cudaMemset(t, 0, sizeof r);
    sum<<<1, 64>>>(a, t, 64);
    cudaMemcpy(&r, t, sizeof r, cudaMemcpyDeviceToHost);
    printf("%s\n", r == 64 ? "64" : "не 64");
    cudaFree(a); cudaFree(t);
    return 0;
}
