// Checked throughout by a macro; iostream and vector; a constant copied by symbol; a template with a number.
#include <cstdio>
#include <iostream>
#include <vector>
#include <cuda_runtime.h>

#define N 1000
#define CHECK(call)                                                              \
    do {                                                                         \
        cudaError_t status = (call);                                             \
        if (status != cudaSuccess) {                                             \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
            exit(3);                                                             \
        }                                                                        \
    } while (0)

__constant__ float factor;

__global__ void add(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

template <int K>
__global__ void scale(float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] *= K * factor;
}

int main() {
    std::vector<float> a(N, 1.0f), b(N, 2.0f), c(N);
    float *d_a, *d_b, *d_c, f = 3;
    CHECK(cudaMalloc(&d_a, N * sizeof(float)));
    CHECK(cudaMalloc((void**)&d_b, N * sizeof(float)));
    CHECK(cudaMalloc(&d_c, N * sizeof(float)));
    CHECK(cudaMemcpyToSymbol(factor, &f, sizeof f));
    CHECK(cudaMemcpy(d_a, a.data(), N * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_b, b.data(), N * sizeof(float), cudaMemcpyHostToDevice));
    add<<<(N + 255) / 256, 256>>>(d_a, d_b, d_c, N);
    scale<4><<<(N + 255) / 256, 256>>>(d_c, N);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(c.data(), d_c, N * sizeof(float), cudaMemcpyDeviceToHost));
    std::cout << "c[5] = " << c[5] << std::endl;
    CHECK(cudaFree(d_a));
    CHECK(cudaFree(d_b));
    CHECK(cudaFree(d_c));
    return c[5] == 36 ? 0 : 1;
}
