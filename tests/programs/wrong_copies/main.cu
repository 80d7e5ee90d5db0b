// Directions swapped, sizes that do not fit, memory freed twice and used after, memory that nobody wrote.
#include <stdio.h>

__global__ void nothing(float* x, int n) {}
__constant__ float weights[5], ends[5]; __global__ void weigh(float *x) { x[threadIdx.x] = weights[threadIdx.x] + ends[threadIdx.x % 3]; }

int main() {
    const int n = 256;
    float h[n] = {7}, *d, *e;
    cudaMalloc(&d, n * sizeof(float));
    cudaMalloc(&e, n * sizeof(float));
    cudaMemcpy(d, h, n * sizeof(float), cudaMemcpyDeviceToHost);
    cudaMemcpy(h, d, n * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(d, h, n * sizeof(double), cudaMemcpyHostToDevice);
    cudaMemcpy(d, h, n, cudaMemcpyHostToDevice);
    nothing<<<1, n>>>(d, n);
    cudaMemcpy(h, d, n * sizeof(float), cudaMemcpyDeviceToHost);
    cudaMemcpyToSymbol(weights, h, 4 * sizeof(float)); cudaMemcpyToSymbol(ends, h, 3 * sizeof(float)); weigh<<<1, 5>>>(d);
    cudaFree(d);
    cudaFree(d);
    cudaMemcpy(d, h, 4, cudaMemcpyHostToDevice);
    cudaFree(h);
    cudaArray *array;
    cudaChannelFormatDesc bytes = cudaCreateChannelDesc<unsigned char>();
    cudaMallocArray(&array, &bytes, 16, 16);
    cudaMemcpy(array, h, 256, cudaMemcpyHostToDevice);
    cudaMemcpy2DToArray(array, 0, 0, h, 16, 16, 16, cudaMemcpyHostToDevice);
    cudaFreeArray(array);
    float *f; cudaMalloc(&f, 16); cudaMemcpy(e, h, 16, cudaMemcpyHostToHost); cudaMemcpy(f, e, 16, cudaMemcpyHostToDevice); cudaMemcpyToSymbol(ends, f, 12);
    h[0] = 5; cudaMemcpy(h, f, 16, cudaMemcpyDeviceToHost); cudaFree(f); printf("%g ", h[0]);
    printf("%s\n", cudaGetErrorString(cudaGetLastError()));
    return 0;
}
