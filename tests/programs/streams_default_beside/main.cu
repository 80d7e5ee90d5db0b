// The kernels run in the default stream, the copies of their pieces in streams that it does not wait for.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void twice(const float* from, float* to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = 2 * from[i];
}

int main() {
    const int n = 200, piece = 64, room = 256;
    float *in, *out;
    cudaMallocHost(&in, n * sizeof(float));
    cudaMallocHost(&out, n * sizeof(float));
    for (int i = 0; i < n; i++) in[i] = i + 1;
    cudaStream_t s[2];
    float *from[2], *to[2];
    for (int k = 0; k < 2; k++) {
        cudaStreamCreateWithFlags(&s[k], cudaStreamNonBlocking);
        cudaMalloc(&from[k], room * sizeof(float));
        cudaMalloc(&to[k], room * sizeof(float));
    }
    for (int first = 0, k = 0; first < n; first += piece, k ^= 1) {
        const int now = n - first < piece ? n - first : piece;
        cudaMemcpyAsync(from[k], in + first, now * sizeof(float), cudaMemcpyHostToDevice, s[k]);
        twice<<<1, 64>>>(from[k], to[k], now);
        cudaMemcpyAsync(out + first, to[k], now * sizeof(float), cudaMemcpyDeviceToHost, s[k]);
    }
    for (int k = 0; k < 2; k++) cudaStreamSynchronize(s[k]);
    printf("%d\n", cudaGetLastError() == cudaSuccess);
    for (int k = 0; k < 2; k++) {
        cudaStreamDestroy(s[k]);
        cudaFree(from[k]);
        cudaFree(to[k]);
    }
    cudaFreeHost(in);
    cudaFreeHost(out);
}
