// The same, with one constant for both sizes, of a name that says nothing.
#include <cstdio>
#include <vector>
#define AMOUNT 256
const int BLOCK_SIZE = 16;
__global__ void transpose_shared(const float *a, float *b) {
  __shared__ float tile[BLOCK_SIZE][BLOCK_SIZE];
  int i = blockIdx.y * BLOCK_SIZE + threadIdx.y, j = blockIdx.x * BLOCK_SIZE + threadIdx.x;
  tile[threadIdx.y][threadIdx.x] = a[i * AMOUNT + j];
  __syncthreads();
  b[i * AMOUNT + j] = tile[threadIdx.x][threadIdx.y];
}
int main() {
  std::vector<float> host(AMOUNT * AMOUNT, 2.0f);
  float *a, *b;
  cudaMalloc(&a, AMOUNT * AMOUNT * sizeof(float));
  cudaMalloc(&b, AMOUNT * AMOUNT * sizeof(float));
  cudaMemcpy(a, host.data(), AMOUNT * AMOUNT * sizeof(float), cudaMemcpyHostToDevice);
  transpose_shared<<<dim3(AMOUNT / BLOCK_SIZE, AMOUNT / BLOCK_SIZE), dim3(BLOCK_SIZE, BLOCK_SIZE)>>>(a, b);
  cudaMemcpy(host.data(), b, AMOUNT * AMOUNT * sizeof(float), cudaMemcpyDeviceToHost);
  std::printf("%g\n", host[0]);
  cudaFree(a);
  cudaFree(b);
}
