// <<<block, grid>>>: 256 blocks of one thread.
#include <cstdio>
#include <vector>
__global__ void naive(const float *a, const float *b, float *c, int n) {
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n || column >= n) return;
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += a[row * n + i] * b[i * n + column];
  c[row * n + column] = sum;
}
int main() {
  const int n = 8;
  std::vector<float> host(n * n, 1.0f);
  float *memory[3];
  for (float *&m : memory) cudaMalloc(&m, n * n * sizeof(float));
  for (int i = 0; i < 2; ++i) cudaMemcpy(memory[i], host.data(), n * n * sizeof(float), cudaMemcpyHostToDevice);
  dim3 threadsPerBlock(16, 16), numBlocks(1, 1);
  naive<<<threadsPerBlock, numBlocks>>>(memory[0], memory[1], memory[2], n);
  cudaMemcpy(host.data(), memory[2], n * n * sizeof(float), cudaMemcpyDeviceToHost);
  std::printf("%g\n", host[0]);
  for (float *m : memory) cudaFree(m);
}
