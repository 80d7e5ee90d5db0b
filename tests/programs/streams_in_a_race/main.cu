// The second stream does not wait for the first, nor the first for the second.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void fill(float* data, float value) { data[threadIdx.x] = value; }
__global__ void copy(const float* from, float* to) { to[threadIdx.x] = from[threadIdx.x]; }

int main() {
    float *a, *b, *pinned, out[64];
    cudaMalloc(&a, sizeof out);
    cudaMalloc(&b, sizeof out);
    cudaMallocHost(&pinned, sizeof out);
    cudaStream_t s[2];
    for (int i = 0; i < 2; i++) cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking);
    fill<<<1, 64, 0, s[0]>>>(a, 7.0f);
    copy<<<1, 64, 0, s[1]>>>(a, b);
    cudaDeviceSynchronize();
    cudaMemcpy(out, b, sizeof out, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 64; i++) pinned[i] = 1;
    // Kernels in one stream, and the copies of the halves that they work on in two.
    for (int i = 0; i < 2; i++) {
        cudaMemcpyAsync(a + 32 * i, pinned + 32 * i, 128, cudaMemcpyHostToDevice, s[i]);
        copy<<<1, 32, 0, s[0]>>>(a + 32 * i, b + 32 * i);
    }
    cudaDeviceSynchronize();
    printf("%d\n", cudaGetLastError() == cudaSuccess);
    for (int i = 0; i < 2; i++) cudaStreamDestroy(s[i]);
    cudaFree(a);
    cudaFree(b);
    cudaFreeHost(pinned);
}
