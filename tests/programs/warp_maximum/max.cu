#include <cstdio>
#include <vector>
#include <algorithm>
#include <fstream>
__global__ void maxima(const int* v, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int m = i < n ? v[i] : -2147483647;
  for (int mask = 16; mask > 0; mask /= 2) m = max(m, __shfl_xor_sync(~0u, m, mask));
  if (threadIdx.x == 0) out[blockIdx.x] = m;
}
int main() {
  std::vector<int> v(100);
  for (int i = 0; i < 100; ++i) v[i] = (i * 37) % 101;
  int *d, *o, h[4];
  cudaMalloc(&d, 400); cudaMalloc(&o, sizeof h);
  cudaMemcpy(d, v.data(), 400, cudaMemcpyHostToDevice);
  dim3 block{32}, grid{4};
  maxima<<<grid, block>>>(d, o, 100);
  cudaMemcpy(h, o, sizeof h, cudaMemcpyDeviceToHost);
  std::ofstream("max.txt") << *std::max_element(h, h + 4) << "\n";
  int back = 0;
  std::ifstream("max.txt") >> back;
  printf("%d\n", back == *std::max_element(v.begin(), v.end()));
  cudaFree(d); cudaFree(o);
}
