// printf of device code, an assertion that fails there, min and max of CUDA's on the host.
#include <assert.h>
#include <stdio.h>

__global__ void hello(int n) {
    printf("Hello from %d.%d\n", blockIdx.x, threadIdx.x);
    assert(n > 0);
}

int main() {
    hello<<<1, 2>>>(1);
    cudaDeviceSynchronize();
    hello<<<1, 1>>>(0);
    cudaError_t e = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorString(e));
    float x = max(1, 2) + min(2.f, 3.f);
    printf("%g\n", x);
    return 0;
}
