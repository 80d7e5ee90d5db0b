#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>
#define BLOCK 256
#define MAX_R 16

__constant__ int c_radius;

__global__ void blurNaive(const float *in, float *out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    if (i < c_radius || i >= count - c_radius) { out[i] = in[i]; return; }
    float s = 0;
    int m = 0;
    for (int d = -c_radius; d <= c_radius; ++d)
        if (i + d >= 0 && i + d < count) { s += in[i + d]; ++m; }
    out[i] = s / m;
}

__global__ void blurShared(const float *in, float *out, int count) {
    __shared__ float part[BLOCK + 2 * MAX_R];
    int i = blockIdx.x * BLOCK + threadIdx.x;
    int first = blockIdx.x * BLOCK - c_radius;
    for (int k = threadIdx.x; k < BLOCK + 2 * c_radius; k += BLOCK) {
        int g = first + k;
        part[k] = g >= 0 && g < count ? in[g] : 0.f;
    }
    __syncthreads();
    if (i >= count) return;
    if (i < c_radius || i >= count - c_radius) { out[i] = in[i]; return; }
    float s = 0;
    int m = 0;
    for (int d = -c_radius; d <= c_radius; ++d)
        if (i + d >= 0 && i + d < count) { s += part[threadIdx.x + c_radius + d]; ++m; }
    out[i] = s / m;
}

static bool same(const std::vector<float> &x, const std::vector<float> &y) {
    for (size_t i = 0; i < x.size(); ++i)
        if (std::fabs(x[i] - y[i]) > 1e-2f) {
            printf("mismatch at %zu: %f, expected %f\n", i, x[i], y[i]);
            return false;
        }
    return true;
}

int main() {
    const int count = 5000, radius = 2;
    std::vector<float> in(count), out(count), ref(count);
    for (float &x : in) x = rand() % 100;
    for (int i = 0; i < count; ++i) {
        float s = 0;
        int m = 0;
        for (int d = -radius; d <= radius; ++d)
            if (i + d >= 0 && i + d < count) { s += in[i + d]; ++m; }
        ref[i] = i < radius || i >= count - radius ? in[i] : s / m;
    }
    float *d_in, *d_out;
    cudaMalloc(&d_in, count * sizeof(float));
    cudaMalloc(&d_out, count * sizeof(float));
    cudaMemcpy(d_in, in.data(), count * sizeof(float), cudaMemcpyHostToDevice);
    int blocks = (count + BLOCK - 1) / BLOCK;
    blurNaive<<<blocks, BLOCK>>>(d_in, d_out, count);
    if (cudaGetLastError() != cudaSuccess) return 1;
    cudaMemcpy(out.data(), d_out, count * sizeof(float), cudaMemcpyDeviceToHost);
    printf("naive %s\n", same(out, ref) ? "PASSED" : "FAILED");
    blurShared<<<blocks, BLOCK>>>(d_in, d_out, count);
    if (cudaGetLastError() != cudaSuccess) return 1;
    cudaMemcpy(out.data(), d_out, count * sizeof(float), cudaMemcpyDeviceToHost);
    printf("shared %s\n", same(out, ref) ? "PASSED" : "FAILED");
    cudaFree(d_in);
    cudaFree(d_out);
}
