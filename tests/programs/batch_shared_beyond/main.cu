#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

__global__ void squareSimple(const float *in, float *out, int n, int count) {
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= count) return;
    const float *m = in + id * n * n;
    for (int r = 0; r < n; ++r)
        for (int c = 0; c < n; ++c) {
            float s = 0;
            for (int k = 0; k < n; ++k) s += m[r * n + k] * m[k * n + c];
            out[id * n * n + r * n + c] = s;
        }
}

__global__ void squareShared(const float *in, float *out, int n, int count) {
    extern __shared__ float tile[];
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    float *m = tile + threadIdx.x * n * n;
    if (id < count)
        for (int e = 0; e < n * n; ++e) m[e] = in[id * n * n + e];
    __syncthreads();
    if (id >= count) return;
    for (int r = 0; r < n; ++r)
        for (int c = 0; c < n; ++c) {
            float s = 0;
            for (int k = 0; k < n; ++k) s += m[r * n + k] * m[k * n + c];
            out[id * n * n + r * n + c] = s;
        }
}

int main() {
    const int n = 5, count = 3000, threads = 256;
    size_t total = (size_t)count * n * n, bytes = total * sizeof(float);
    float *in = (float *)malloc(bytes), *out = (float *)malloc(bytes), *ref = (float *)malloc(bytes);
    for (size_t i = 0; i < total; ++i) in[i] = (rand() % 1000) / 1000.f;
    for (int id = 0; id < count; ++id)
        for (int r = 0; r < n; ++r)
            for (int c = 0; c < n; ++c) {
                float s = 0;
                for (int k = 0; k < n; ++k) s += in[id * n * n + r * n + k] * in[id * n * n + k * n + c];
                ref[id * n * n + r * n + c] = s;
            }
    float *d_in, *d_out;
    cudaMalloc(&d_in, bytes);
    cudaMalloc(&d_out, bytes);
    cudaMemcpy(d_in, in, bytes, cudaMemcpyHostToDevice);
    for (int v = 0; v < 2; ++v) {
        int blocks = (count + threads - 1) / threads;
        if (v == 0) squareSimple<<<blocks, threads>>>(d_in, d_out, n, count);
        else squareShared<<<blocks, threads, threads * n * n * sizeof(float)>>>(d_in, d_out, n, count);
        if (cudaGetLastError() != cudaSuccess) { printf("launch failed\n"); return 1; }
        cudaMemcpy(out, d_out, bytes, cudaMemcpyDeviceToHost);
        int bad = 0;
        for (size_t i = 0; i < total; ++i) bad += fabs(out[i] - ref[i]) > 1e-3;
        printf("variant %d: %d mismatches\n", v, bad);
    }
    cudaFree(d_in);
    cudaFree(d_out);
    return 0;
}
