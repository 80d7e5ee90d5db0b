#include <cstdio>

extern __device__ float grown(float);
extern __constant__ int factor;

template <class F> __global__ void each(float *values, int n, F change) {
    int i = threadIdx.x;
    if (i < n) {
        values[i] = change(values[i]);
    }
}

int main() {
    float *values;
    cudaMallocManaged(&values, 10 * sizeof(float));
    for (int i = 0; i < 10; i++) {
        values[i] = i;
    }
    int three = 3;
    cudaMemcpyToSymbol(factor, &three, sizeof(three));
    each<<<1, 32>>>(values, 10, [] __device__(float x) { return grown(x) * factor; });
    cudaDeviceSynchronize();
    printf("%g %g\n", values[2], values[9]);
    cudaFree(values);
}
