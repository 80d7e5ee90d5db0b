#include <cstdio>

__device__ int made;
static __device__ int counted[4];

template <class F>
__global__ void child(int *a, int n, F f, char tag) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = f(i) + (tag == 'x');
}

namespace {
__global__ void last(double d, short s, int *a) {
    a[0] += (int)d + s;
    counted[1] = 7;
}
}

template <class F>
__global__ void parent(int *a, int n, F f) {
    if (threadIdx.x == 0) {
        child<<<(n + 63) / 64, dim3(64)>>>(a, n, f, 'x');
        last<<<1, 1>>>(2.5, (short)40, a);
        int *own = nullptr;
        cudaMalloc(&own, 4);
        made = own != nullptr;
        cudaFree(own);
        child<<<1, 2048>>>(a, n, f, 'x');
        printf("error %d, then %d\n", (int)cudaGetLastError(), (int)cudaPeekAtLastError());
    }
}

int main() {
    const int n = 200;
    int *d, h[n], m = 0, c[4];
    cudaMalloc(&d, sizeof h);
    auto twice = [] __device__(int i) { return 2 * i; };
    parent<<<1, 32>>>(d, n, twice);
    cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
    cudaMemcpyFromSymbol(&m, made, sizeof m);
    cudaMemcpyFromSymbol(c, counted, sizeof c);
    long sum = 0;
    for (int i = 0; i < n; i++) sum += h[i];
    printf("sum %ld made %d counted %d\n", sum, m, c[1]);
    cudaFree(d);
}
