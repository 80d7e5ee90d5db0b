#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

__global__ void squareSimple(const float *in, float *out, int n, int count) {
    int c = threadIdx.x, r = threadIdx.y, id = blockIdx.z;
    if (r >= n || c >= n || id >= count) return;
    const float *m = in + id * n * n;
    float s = 0;
    for (int k = 0; k < n; ++k) s += m[r * n + k] * m[k * n + c];
    out[id * n * n + r * n + c] = s;
}

__global__ void squareShared(const float *in, float *out, int n, int count) {
    __shared__ float m[16][16];
    int c = threadIdx.x, r = threadIdx.y, id = blockIdx.z;
    if (r < n && c < n && id < count) m[r][c] = in[id * n * n + r * n + c];
    __syncthreads();
    if (r >= n || c >= n || id >= count) return;
    float s = 0;
    for (int k = 0; k < n; ++k) s += m[r][k] * m[k][c];
    out[id * n * n + r * n + c] = s;
}

int main() {
    const int n = 5, count = 300;
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
        dim3 block(16, 16), grid(1, 1);
        grid.z = count;
        if (v == 0) squareSimple<<<grid, block>>>(d_in, d_out, n, count);
        else squareShared<<<grid, block>>>(d_in, d_out, n, count);
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
