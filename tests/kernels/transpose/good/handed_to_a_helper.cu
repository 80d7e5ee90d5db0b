// Kernels made from templates are handed to a function that launches them.
#include <cstdio>
#include <vector>
#include <chrono>
constexpr int kTile = 32;
constexpr int kRows = 8; // строк за раз
template <typename T>
__global__ void TransNaive(T* __restrict__ dst, const T* __restrict__ src, size_t w, size_t h)
{
  const size_t x = size_t(blockIdx.x) * kTile + threadIdx.x;
  const size_t y = size_t(blockIdx.y) * kTile + threadIdx.y;
  for (int j = 0; j < kTile; j += kRows)
    if (x < w && y + j < h) dst[x * h + y + j] = src[(y + j) * w + x];
}
template <typename T, int PAD>
__device__ void through_tile(T* dst, const T* src, size_t w, size_t h)
{
  __shared__ T tile[kTile][kTile + PAD];
  size_t x = size_t(blockIdx.x) * kTile + threadIdx.x;
  size_t y = size_t(blockIdx.y) * kTile + threadIdx.y;
  for (int j = 0; j < kTile; j += kRows)
    if (x < w && y + j < h) tile[threadIdx.y + j][threadIdx.x] = src[(y + j) * w + x];
  __syncthreads();
  x = size_t(blockIdx.y) * kTile + threadIdx.x;
  y = size_t(blockIdx.x) * kTile + threadIdx.y;
  for (int j = 0; j < kTile; j += kRows)
    if (x < h && y + j < w) dst[(y + j) * h + x] = tile[threadIdx.x][threadIdx.y + j];
}
template <typename T>
__global__ void TransShared(T* __restrict__ dst, const T* __restrict__ src, size_t w, size_t h) { through_tile<T, 0>(dst, src, w, h); }
template <typename T>
__global__ void TransSharedPad(T* __restrict__ dst, const T* __restrict__ src, size_t w, size_t h) { through_tile<T, 1>(dst, src, w, h); }

template <typename F>
float zamer(F kernel, float* dst, float* src, size_t w, size_t h)
{
  dim3 block(kTile, kRows);
  dim3 grid((w + kTile - 1) / kTile, (h + kTile - 1) / kTile);
  auto t0 = std::chrono::steady_clock::now();
  kernel<<<grid, block>>>(dst, src, w, h);
  cudaDeviceSynchronize();
  return std::chrono::duration<float, std::milli>(std::chrono::steady_clock::now() - t0).count();
}
int main()
{
  const size_t w = 2000, h = 1500;
  std::vector<float> a(w * h);
  float *src, *dst;
  cudaMalloc(&src, w * h * sizeof(float)); cudaMalloc(&dst, w * h * sizeof(float));
  printf("наивный: %f мс\n", zamer(TransNaive<float>, dst, src, w, h));
  printf("разделяемая: %f мс\n", zamer(TransShared<float>, dst, src, w, h));
  printf("без конфликтов: %f мс\n", zamer(TransSharedPad<float>, dst, src, w, h));
}
