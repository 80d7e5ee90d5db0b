// Kernels launched again and again, as benchmarks do: from the same memory they do the same, else they do not.
#include <cstdio>
#include <cuda_runtime.h>

const int N = 1 << 14;

__global__ void square(const float *in, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i];
    for (int k = 0; k < 40; k++) x = 0.5f * (x + in[i] * in[i] / x);
    out[i] = x;
}
__global__ void count(const float *in, int *counts) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&counts[(int)in[i] % 4], 1);
}
__device__ int launches;
__global__ void next(float *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] += 1;
    if (i == 0) launches++;
}
__global__ void say(int n) {
    if (threadIdx.x == 0) printf("said %d\n", n);
}

int main() {
    float *in, *out, *managed, h[2];
    int *counts, c[4], n;
    cudaMalloc(&in, N * sizeof(float));
    cudaMalloc(&out, N * sizeof(float));
    cudaMalloc(&counts, 4 * sizeof(int));
    cudaMallocManaged(&managed, N * sizeof(float));
    for (int i = 0; i < N; i++) managed[i] = 1 + i % 7;
    cudaMemcpy(in, managed, N * sizeof(float), cudaMemcpyDefault);
    for (int round = 0; round < 6; round++) square<<<N / 256, 256>>>(in, out);
    cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost);
    printf("%g %g\n", h[0], h[1]);
    // What it reads is another now, and then as before.
    for (int round = 0; round < 8; round++) {
        float first = round % 2 ? 9 : 3;
        cudaMemcpy(in, &first, sizeof first, cudaMemcpyHostToDevice);
        square<<<N / 256, 256>>>(in, out);
        cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost);
        printf("%g;", h[0]);
    }
    printf("\n");
    for (int round = 0; round < 5; round++) {
        if (round != 3) cudaMemset(counts, 0, 4 * sizeof(int));
        count<<<N / 256, 256>>>(in, counts);
        cudaMemcpy(c, counts, sizeof c, cudaMemcpyDeviceToHost);
        printf("%d %d %d %d\n", c[0], c[1], c[2], c[3]);
    }
    // The host's own memory, which it changes without a call.
    for (int round = 0; round < 5; round++) {
        managed[0] = 1 + round / 2;
        square<<<N / 256, 256>>>(managed, out);
        cudaDeviceSynchronize();
        cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost);
        printf("%g;", h[0]);
    }
    printf("\n");
    for (int round = 0; round < 9; round++) next<<<N / 256, 256>>>(out);
    cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost);
    cudaMemcpyFromSymbol(&n, launches, sizeof n);
    printf("%g %d\n", h[1], n);
    for (int round = 0; round < 4; round++) say<<<1, 32>>>(7);
    cudaDeviceSynchronize();
}
