#include <iostream>
#include <random>
#include <vector>

template <int N>
__global__ void batchSquareShared(float const* __restrict__ a, float* __restrict__ c, int batch) {
  extern __shared__ __align__(16) unsigned char raw[];
  float* tile = reinterpret_cast<float*>(raw) + threadIdx.x * N * N;
  int const b = threadIdx.x + blockIdx.x * blockDim.x;
  if (b < batch) {
    for (int i = 0; i < N * N; ++i) tile[i] = a[b * N * N + i];
    for (int r = 0; r < N; ++r)
      for (int q = 0; q < N; ++q) {
        float acc{};
#pragma unroll
        for (int k = 0; k < N; ++k) acc += tile[r * N + k] * tile[k * N + q];
        c[b * N * N + r * N + q] = acc;
      }
  }
}

template <int N>
int run(int batch, int threads) {
  std::vector<float> a(batch * N * N), c(a.size());
  std::default_random_engine engine;
  std::uniform_real_distribution<float> u;
  for (float& x : a) x = u(engine);
  float *da, *dc;
  cudaMalloc(&da, a.size() * sizeof(float));
  cudaMalloc(&dc, a.size() * sizeof(float));
  cudaMemcpy(da, a.data(), a.size() * sizeof(float), cudaMemcpyHostToDevice);
  size_t const bytes = sizeof(float) * N * N * threads;
  int limit = 0;
  cudaDeviceGetAttribute(&limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0);
  if (bytes > size_t(limit)) {
    std::cout << "N=" << N << " needs " << bytes << " bytes, the device has " << limit << '\n';
    cudaFree(da);
    cudaFree(dc);
    return 0;
  }
  if (bytes > 48 * 1024)
    cudaFuncSetAttribute(batchSquareShared<N>, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes));
  batchSquareShared<N><<<(batch + threads - 1) / threads, threads, bytes>>>(da, dc, batch);
  if (auto e = cudaGetLastError()) {
    std::cout << cudaGetErrorName(e) << '\n';
    return 1;
  }
  cudaMemcpy(c.data(), dc, a.size() * sizeof(float), cudaMemcpyDeviceToHost);
  float worst = 0;
  for (int b = 0; b < batch; ++b)
    for (int r = 0; r < N; ++r)
      for (int q = 0; q < N; ++q) {
        float s = 0;
        for (int k = 0; k < N; ++k) s += a[b * N * N + r * N + k] * a[b * N * N + k * N + q];
        worst = std::max(worst, std::abs(s - c[b * N * N + r * N + q]));
      }
  std::cout << "N=" << N << ' ' << (worst < 1e-3f ? "ok" : "bad") << '\n';
  cudaFree(da);
  cudaFree(dc);
  return worst < 1e-3f ? 0 : 1;
}

int main() { return run<3>(300, 256) + run<7>(300, 256) + run<10>(300, 256); }
