// A vector is made of page-locked memory into which a copy may still be under way.
#include <cstdio>
#include <cstring>
#include <vector>
__global__ void fill(int *p, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = i;
}
int main() {
    const int n = 4096;
    int *h, *d;
    cudaHostAlloc(&h, n * sizeof(int), cudaHostAllocDefault);
    cudaMalloc(&d, n * sizeof(int));
    fill<<<n / 256, 256>>>(d, n);
    cudaMemcpyAsync(h, d, n * sizeof(int), cudaMemcpyDeviceToHost, 0);
    std::vector<int> out(n);
    memcpy(out.data(), h, n * sizeof(int));
    cudaError_t e = cudaDeviceSynchronize();
    printf("%d %s\n", out[n - 1], cudaGetErrorString(e));
    cudaFree(d);
    cudaFreeHost(h);
}
