#include <cstdio>
#include <cuda_runtime.h>
#include <cuda.h>

#define GRID(n, b) (((n) + (b) - 1) / (b))
#define LAUNCH(k, n, ...) k<<<GRID(n, kBlock), kBlock>>>(__VA_ARGS__)

const int kBlock = 32;

__global__ void set(int* a, int n, int v = 1) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] = v; }
template <class T, int By = 2> __global__ void mul(T* a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] *= By; }
namespace inner { __global__ void inc(int* a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i]++; } }
extern "C" __global__ void plain(int* a, int n) { if (threadIdx.x < n) a[threadIdx.x] += 1000; }
struct Op { int by; __device__ int operator()(int x) const { return x - by; } };
template <typename F> __global__ void apply(int* a, int n, F f) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] = f(a[i]); }

template <typename K, typename... A> void go(K kernel, dim3 grid, dim3 block, A... args) { kernel<<<grid, block>>>(args...); }
void in_stream(cudaStream_t s, int* a, int n) { using namespace inner; inc<<<GRID(n, 16), 16, 0, s>>>(a, n); }

int main()
{
    int n = 50, *a, h[50];
    cudaMalloc(&a, n * sizeof(int));
    set<<<2, kBlock>>>(a, n);                                    // 1
    mul<int><<<dim3(2), dim3(kBlock)>>>(a, n);                   // 2
    mul<int, 5> <<< GRID(n, 64), 64 >>> (a, n);                  // 10
    LAUNCH(inner::inc, n, a, n);                                 // 11
    go(inner::inc, 2, 32, a, n);                                 // 12
    go(mul<int, 3>, {4, 1, 1}, {16, 1, 1}, a, n);                // 36
    dim3 g, b;                                                   // 1 x 1 x 1
    g.x = 1; b.x = 64;
    plain<<<g, b>>>(a, n);                                       // 1036
    void (*pointer)(int*, int) = inner::inc;
    pointer<<<2, 32>>>(a, n);                                    // 1037
    void* args[] = {(void*)&a, (void*)&n};
    cudaLaunchKernel((const void*)inner::inc, dim3(2), dim3(32), args, 0, 0);   // 1038
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(2);
    config.blockDim = dim3(32);
    cudaLaunchKernelEx(&config, inner::inc, a, n);               // 1039
    cudaStream_t s;
    cudaStreamCreate(&s);
    in_stream(s, a, n);                                          // 1040
    cudaStreamSynchronize(s);
    apply<<<2, 32>>>(a, n, Op{40});                              // 1000
    [&] { inner::inc<<<1, 64>>>(a, n); }();                      // 1001
    auto lambda = [=](int k) { set<<<(n + k - 1) / k, k>>>(a, n, 7); };
    lambda(25);                                                  // 7
    cudaMemcpy(h, a, sizeof h, cudaMemcpyDeviceToHost);
    printf("%d %d\n", h[0], h[49]);
    cudaStreamDestroy(s);
    cudaFree(a);
    return 0;
}
