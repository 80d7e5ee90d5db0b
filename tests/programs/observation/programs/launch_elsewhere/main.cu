// The launch stands in another file than the kernel, and its grid is rounded down.
#include <cstdio>
#include <vector>

#include "kernels.cuh"

int main()
{
    const int n = 100;
    std::vector<float> h(n * n, 1.0f);
    float *a, *b;
    cudaMalloc(&a, n * n * sizeof(float));
    cudaMalloc(&b, n * n * sizeof(float));
    cudaMemcpy(a, h.data(), n * n * sizeof(float), cudaMemcpyHostToDevice);
    dim3 block(32, 8);


    flipPlain<<<dim3(n / 32, n / 8), block>>>(a, b, n);
    cudaMemcpy(h.data(), b, n * n * sizeof(float), cudaMemcpyDeviceToHost);
    printf("%g\n", h[1]);
    cudaFree(a);
    cudaFree(b);
}
