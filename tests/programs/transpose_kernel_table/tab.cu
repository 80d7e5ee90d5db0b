#include <cstdio>
#include <vector>
#include <string>
constexpr int DIM = 32, ROWS = 8;
using Kernel = void (*)(float *, const float *, int);
__global__ void simpleT(float *o, const float *i, int n) {
  int x = blockIdx.x * DIM + threadIdx.x, y = blockIdx.y * DIM + threadIdx.y;
  for (int j = 0; j < DIM; j += ROWS) if (x < n && y + j < n) o[x * n + y + j] = i[(y + j) * n + x];
}
template <bool padded> __global__ void tileT(float *o, const float *i, int n) {
  __shared__ float t[DIM][DIM + (padded ? 1 : 0)];
  int x = blockIdx.x * DIM + threadIdx.x, y = blockIdx.y * DIM + threadIdx.y;
  for (int j = 0; j < DIM; j += ROWS) if (x < n && y + j < n) t[threadIdx.y + j][threadIdx.x] = i[(y + j) * n + x];
  __syncthreads();
  x = blockIdx.y * DIM + threadIdx.x; y = blockIdx.x * DIM + threadIdx.y;
  for (int j = 0; j < DIM; j += ROWS) if (x < n && y + j < n) o[(y + j) * n + x] = t[threadIdx.x][threadIdx.y + j];
}
int main() {
  struct Row { std::string name; Kernel k; };
  std::vector<Row> rows = {{"simple", simpleT}, {"tile", tileT<false>}, {"tile+1", tileT<true>}};
  const int n = 100;
  std::vector<float> in(n * n), out(n * n);
  for (int i = 0; i < n * n; ++i) in[i] = i;
  float *d_i, *d_o;
  cudaMalloc(&d_i, n * n * 4); cudaMalloc(&d_o, n * n * 4);
  cudaMemcpy(d_i, in.data(), n * n * 4, cudaMemcpyHostToDevice);
  dim3 g((n + DIM - 1) / DIM, (n + DIM - 1) / DIM), b(DIM, ROWS);
  for (const Row &r : rows) {
    r.k<<<g, b>>>(d_o, d_i, n);
    if (auto e = cudaDeviceSynchronize()) { printf("%s\n", cudaGetErrorString(e)); return 1; }
    cudaMemcpy(out.data(), d_o, n * n * 4, cudaMemcpyDeviceToHost);
    bool ok = true;
    for (int y = 0; y < n; ++y) for (int x = 0; x < n; ++x) ok &= out[x * n + y] == in[y * n + x];
    printf("%s %d\n", r.name.c_str(), ok);
  }
  cudaFree(d_i); cudaFree(d_o);
}
