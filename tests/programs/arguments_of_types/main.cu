// Kernels take arguments of every type that has a size of its own; what they are handed is told as numbers.
#include <cstdio>

enum Way { forward, backward };

__global__ void mixed(bool negate, char letter, unsigned char byte, short small, double large, Way way, long long far, float *out) {
    float sum = letter + byte + small + (float)large + (way == backward) + (float)far;
    out[threadIdx.x] = negate ? -sum : sum;
}

int main() {
    float *out, host[32];
    cudaMalloc(&out, sizeof host);
    for (int i = 0; i < 2; i++) {
        mixed<<<1, 32>>>(i == 0, 'A', 200, -7, 0.5, backward, 1000, out);
        cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
        printf("%g\n", host[31]);
    }
    cudaFree(out);
    return 0;
}
