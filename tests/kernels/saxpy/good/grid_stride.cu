// A bounded grid whose threads go on; CUDA's error is looked at.
#include <cstdio>

__global__ void saxpy(float a, const float *__restrict__ x, float *__restrict__ y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        y[i] = fmaf(a, x[i], y[i]);
    }
}

void solve(float a, const float *x, float *y, int n) {
    saxpy<<<4, 128>>>(a, x, y, n);
    cudaError_t status = cudaGetLastError();
    if (status != cudaSuccess) fprintf(stderr, "%s\n", cudaGetErrorString(status));
}
