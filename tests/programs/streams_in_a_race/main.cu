// The second stream does not wait for the first.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void fill(float* data, float value) { data[threadIdx.x] = value; }
__global__ void copy(const float* from, float* to) { to[threadIdx.x] = from[threadIdx.x]; }

int main() {
    float *a, *b, out[64];
    cudaMalloc(&a, sizeof out);
    cudaMalloc(&b, sizeof out);
    cudaStream_t s[2];
    for (int i = 0; i < 2; i++) cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking);
    fill<<<1, 64, 0, s[0]>>>(a, 7.0f);
    copy<<<1, 64, 0, s[1]>>>(a, b);
    cudaDeviceSynchronize();
    cudaMemcpy(out, b, sizeof out, cudaMemcpyDeviceToHost);
    printf("%d\n", cudaGetLastError() == cudaSuccess);
    for (int i = 0; i < 2; i++) cudaStreamDestroy(s[i]);
    cudaFree(a);
    cudaFree(b);
}
