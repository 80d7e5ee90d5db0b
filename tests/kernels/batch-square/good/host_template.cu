// Every order has its own instance, launched from a template of the host's.
#include <iostream>
#include <random>
#include <vector>
#include <cuda_runtime.h>
#define CUDA_CALL(x) { cudaError_t rc = (x); if (rc != cudaSuccess) { std::cerr << "Ошибка CUDA " << cudaGetErrorString(rc) << " строка " << __LINE__ << std::endl; std::exit(EXIT_FAILURE); } }
template <int N>
__global__ void squareKernel(const float* in, float* out, int batch)
{
    const int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= batch) return;
    const float* A = in + id * N * N;
    float* C = out + id * N * N;
#pragma unroll
    for (int i = 0; i < N; ++i)
        for (int j = 0; j < N; ++j) {
            float s = 0;
            for (int k = 0; k < N; ++k) s += A[i * N + k] * A[k * N + j];
            C[i * N + j] = s;
        }
}
template <int N>
__global__ void squareKernelShared(const float* in, float* out, int batch)
{
    extern __shared__ float sm[];
    const int id = blockIdx.x * blockDim.x + threadIdx.x;
    float* A = sm + threadIdx.x * N * N;
    if (id < batch)
        for (int i = 0; i < N * N; ++i) A[i] = in[id * N * N + i];
    __syncthreads();
    if (id >= batch) return;
    for (int i = 0; i < N; ++i)
        for (int j = 0; j < N; ++j) {
            float s = 0;
            for (int k = 0; k < N; ++k) s += A[i * N + k] * A[k * N + j];
            out[id * N * N + i * N + j] = s;
        }
}
template <int N>
void test(int batch)
{
    std::vector<float> h(batch * N * N);
    std::mt19937 gen(42); std::uniform_real_distribution<float> d(0.f, 1.f);
    for (auto& v : h) v = d(gen);
    float *in, *out;
    CUDA_CALL(cudaMalloc(&in, h.size() * sizeof(float)));
    CUDA_CALL(cudaMalloc(&out, h.size() * sizeof(float)));
    CUDA_CALL(cudaMemcpy(in, h.data(), h.size() * sizeof(float), cudaMemcpyHostToDevice));
    const int threads = 128;
    const int blocks = (batch + threads - 1) / threads;
    const size_t bytes = threads * N * N * sizeof(float);
    squareKernel<N><<<blocks, threads>>>(in, out, batch);
    CUDA_CALL(cudaGetLastError());
    CUDA_CALL(cudaFuncSetAttribute(squareKernelShared<N>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    squareKernelShared<N><<<blocks, threads, bytes>>>(in, out, batch);
    CUDA_CALL(cudaDeviceSynchronize());
}
int main() { test<2>(1000); test<3>(1000); test<4>(1000); test<5>(1000); test<6>(1000); test<7>(1000); test<8>(1000); test<9>(1000); test<10>(1000); }
