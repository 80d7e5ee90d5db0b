// A struct with pointers by value, several namespaces, managed memory, exceptions.
#include <cstdio>
#include <stdexcept>
#include <string>
#include <cuda_runtime.h>
#include "matrix.h"

namespace lab {
__global__ void transpose(Matrix in, Matrix out) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < in.width && y < in.height) out.at(x, y) = in.at(y, x);
}
}

static void check(cudaError_t status, const std::string& what) {
    if (status != cudaSuccess) throw std::runtime_error(what + ": " + cudaGetErrorString(status));
}

int main() {
    printf("%zu %zu\n", sizeof(Matrix), sizeof(long));
    Matrix a{nullptr, 40, 24}, b{nullptr, 24, 40};
    check(cudaMallocManaged(&a.elements, 40 * 24 * sizeof(float)), "a");
    check(cudaMalloc(&b.elements, 40 * 24 * sizeof(float)), "b");
    for (int i = 0; i < 40 * 24; i++) a.elements[i] = i;
    float* plain;
    check(cudaMalloc(&plain, 40 * 24 * sizeof(float)), "plain");
    check(cudaMemcpy(plain, a.elements, 40 * 24 * sizeof(float), cudaMemcpyDefault), "copy");
    Matrix source = a;
    source.elements = plain;
    lab::transpose<<<dim3(3, 2), dim3(16, 16)>>>(source, b);
    check(cudaDeviceSynchronize(), "transpose");
    float out[40 * 24];
    check(cudaMemcpy(out, b.elements, sizeof out, cudaMemcpyDeviceToHost), "back");
    printf("%g %g\n", out[1], out[24]);
    try {
        check(cudaMemcpy(out, b.elements, sizeof out + 4, cudaMemcpyDeviceToHost), "too much");
    } catch (const std::exception& error) {
        printf("caught %s\n", error.what());
    }
    cudaFree(a.elements);
    cudaFree(b.elements);
    cudaFree(plain);
    return 7;
}
