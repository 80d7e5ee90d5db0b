// Kernels that are declared as C's: one by one, in braces, with a prototype, beside one of C++.
#include <cstdio>
typedef float real;
extern "C" __global__ void scale(const real *in, real *out, int n, float factor);
extern "C" {
__global__ void fill(unsigned *p, size_t n, unsigned value) {
    size_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = value;
}
int half(int n) { return n / 2; }
}
__global__ void add_one(real *p, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] += 1;
}
int main() {
    const int n = 1000;
    float *h = new float[n], *d_in, *d_out;
    unsigned *d_p, first;
    for (int i = 0; i < n; i++) h[i] = i;
    cudaMalloc(&d_in, n * sizeof(float));
    cudaMalloc(&d_out, n * sizeof(float));
    cudaMalloc(&d_p, n * sizeof(unsigned));
    cudaMemcpy(d_in, h, n * sizeof(float), cudaMemcpyHostToDevice);
    scale<<<(n + 255) / 256, 256>>>(d_in, d_out, n, 0.5f);
    add_one<<<(n + 255) / 256, 256>>>(d_out, n);
    fill<<<half(16), 128>>>(d_p, n, 7u);
    cudaError_t e = cudaMemcpy(h, d_out, n * sizeof(float), cudaMemcpyDeviceToHost);
    cudaMemcpy(&first, d_p, sizeof first, cudaMemcpyDeviceToHost);
    printf("%g %u %s\n", h[n - 1], first, cudaGetErrorString(e));
    cudaFree(d_in);
    cudaFree(d_out);
    cudaFree(d_p);
    delete[] h;
}
extern "C" __global__ void scale(const real *in, real *out, int n, float factor) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = factor * in[i];
}
