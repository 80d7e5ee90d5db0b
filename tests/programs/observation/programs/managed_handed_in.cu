// Managed arrays of the file are handed in by their addresses; M rows and N columns are constants.
#include <cstdio>
const int M = 300;
const int N = 200;
__managed__ float matrix[M * N];
__managed__ float turned[N * M];
__managed__ float expected[N * M];
__global__ void turn_naive(const float *in, float *out) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < M && y < N) out[y * M + x] = in[x * N + y];
}
int main() {
  for (int i = 0; i < M * N; ++i) matrix[i] = i % 97;
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) expected[j * M + i] = matrix[i * N + j];
  dim3 block(16, 16), grid((M + block.x - 1) / block.x, (N + block.y - 1) / block.y);
  turn_naive<<<grid, block>>>(matrix, turned);
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  for (int i = 0; i < M * N; ++i)
    if (turned[i] != expected[i]) return 2;
  std::puts("right");
}
