// Any kernel with any arguments is launched by one function.
#include <cstdio>
#include <utility>
template <class T, int R>
__global__ void blur1d_naive(T const *in, T *out, int n)
{
    int const i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < n) {
        if (i >= R && i < n - R) {
            T acc = T(0);
            for (int k = i - R; k <= i + R; ++k) acc += in[k];
            out[i] = acc / T(2 * R + 1);
        } else out[i] = in[i];
    }
}
template <class T, int R, int BS>
__global__ void blur1d_shared(T const *in, T *out, int n)
{
    __shared__ T buf[BS + 2 * R];
    int const i = threadIdx.x + blockIdx.x * BS;
    buf[R + threadIdx.x] = i < n ? in[i] : T(0);
    if (threadIdx.x < R) {
        buf[threadIdx.x] = i - R >= 0 ? in[i - R] : T(0);
        buf[threadIdx.x + BS + R] = i + BS < n ? in[i + BS] : T(0);
    }
    __syncthreads();
    if (i < n) {
        T acc = T(0);
        for (int k = 0; k <= 2 * R; ++k) acc += buf[threadIdx.x + k];
        out[i] = i >= R && i < n - R ? acc / T(2 * R + 1) : buf[R + threadIdx.x];
    }
}
template <class... P, class... A>
void zapusk(void (*kernel)(P...), dim3 grid, dim3 block, size_t shared, A&&... args)
{
    kernel<<<grid, block, shared>>>(std::forward<A>(args)...);
    if (auto e = cudaGetLastError(); e != cudaSuccess) std::printf("Ошибка запуска: %s\n", cudaGetErrorString(e));
}
int main()
{
    constexpr int R = 2, BS = 256; int n = 1'000'000;
    float *in, *out; cudaMalloc(&in, n * sizeof(float)); cudaMalloc(&out, n * sizeof(float));
    zapusk(blur1d_naive<float, R>, (n + BS - 1) / BS, BS, 0, in, out, n);
    zapusk(blur1d_shared<float, R, BS>, (n + BS - 1) / BS, BS, 0, in, out, n);
    cudaDeviceSynchronize();
}
