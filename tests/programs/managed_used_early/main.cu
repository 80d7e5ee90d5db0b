// Managed memory is read before the kernel that writes it was waited for; the second time it is done right.
#include <cstdio>
__global__ void add(const float *a, const float *b, float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
int main() {
    const int n = 3000;
    float *a, *b, *c;
    cudaMallocManaged(&a, n * sizeof(float));
    cudaMallocManaged(&b, n * sizeof(float));
    cudaMallocManaged(&c, n * sizeof(float));
    for (int i = 0; i < n; i++) { a[i] = 1; b[i] = i; }
    add<<<(n + 127) / 128, 128>>>(a, b, c, n);
    int wrong = a[5] != 1;  // only read by the kernel, too
    for (int i = 0; i < n; i++)
        if (c[i] != i + 1) wrong++;
    cudaError_t e = cudaDeviceSynchronize();
    printf("%d wrong, %s\n", wrong, cudaGetErrorString(e));
    add<<<(n + 127) / 128, 128>>>(c, b, a, n);
    e = cudaDeviceSynchronize();
    printf("%g, %s\n", a[2], cudaGetErrorString(e));
    cudaFree(a);
    cudaFree(b);
    cudaFree(c);
}
