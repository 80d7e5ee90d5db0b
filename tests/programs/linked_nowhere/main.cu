#include <cstdio>

__device__ float grown(float x);

__global__ void grow(float *values) { values[threadIdx.x] = grown(values[threadIdx.x]); }

int main() {
    float *values;
    cudaMalloc(&values, 32 * sizeof(float));
    cudaMemset(values, 0, 32 * sizeof(float));
    grow<<<1, 32>>>(values);
    cudaDeviceSynchronize();
    printf("done\n");
    cudaFree(values);
}
