#include "kernels.h"
#include <vector>
#include <iostream>
#include <cmath>
#include <cuda_runtime.h>
static void must(cudaError_t e) { if (e != cudaSuccess) { std::cerr << cudaGetErrorString(e) << '\n'; std::exit(1); } }
int main() {
  const int n = 80;
  std::vector<float> a(n * n), b(n * n), c(n * n);
  for (int i = 0; i < n * n; ++i) { a[i] = float(i % 11); b[i] = float(i % 3); }
  float *da, *db, *dc;
  must(cudaMalloc(&da, n * n * 4)); must(cudaMalloc(&db, n * n * 4)); must(cudaMalloc(&dc, n * n * 4));
  must(cudaMemcpy(da, a.data(), n * n * 4, cudaMemcpyHostToDevice)); must(cudaMemcpy(db, b.data(), n * n * 4, cudaMemcpyHostToDevice));
  for (auto f : {launchNaive, launchTiled}) {
    f(da, db, dc, n);
    must(cudaGetLastError());
    must(cudaMemcpy(c.data(), dc, n * n * 4, cudaMemcpyDeviceToHost));
    float worst = 0;
    for (int i = 0; i < n; ++i) for (int j = 0; j < n; ++j) { float s = 0; for (int k = 0; k < n; ++k) s += a[i*n+k] * b[k*n+j]; worst = std::max(worst, std::fabs(s - c[i*n+j])); }
    std::cout << (worst < 1e-3f ? "ok" : "wrong") << '\n';
  }
  cudaFree(da); cudaFree(db); cudaFree(dc);
}
