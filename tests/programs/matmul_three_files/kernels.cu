#include "kernels.h"
#include <cuda_runtime.h>
constexpr int kTile = 16;
namespace {
__global__ void gemmNaive(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, int n) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= n || j >= n) return;
  float acc = 0.f;
  for (int k = 0; k < n; ++k) acc = fmaf(a[i * n + k], b[k * n + j], acc);
  c[i * n + j] = acc;
}
__global__ void gemmTiled(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, int n) {
  __shared__ float sa[kTile][kTile], sb[kTile][kTile];
  const int tx = threadIdx.x, ty = threadIdx.y, j = blockIdx.x * kTile + tx, i = blockIdx.y * kTile + ty;
  float acc = 0.f;
  for (int t = 0; t < n; t += kTile) {
    sa[ty][tx] = i < n && t + tx < n ? a[i * n + t + tx] : 0.f;
    sb[ty][tx] = j < n && t + ty < n ? b[(t + ty) * n + j] : 0.f;
    __syncthreads();
    for (int k = 0; k < kTile; ++k) acc = fmaf(sa[ty][k], sb[k][tx], acc);
    __syncthreads();
  }
  if (i < n && j < n) c[i * n + j] = acc;
}
}
void launchNaive(const float *a, const float *b, float *c, int n) {
  dim3 t(kTile, kTile), g((n + kTile - 1) / kTile, (n + kTile - 1) / kTile);
  gemmNaive<<<g, t>>>(a, b, c, n);
}
void launchTiled(const float *a, const float *b, float *c, int n) {
  dim3 t(kTile, kTile), g((n + kTile - 1) / kTile, (n + kTile - 1) / kTile);
  gemmTiled<<<g, t>>>(a, b, c, n);
}
