#include <iostream>
#include <vector>
#include <cassert>
#include <cuda_runtime.h>

#define SHMEM_SIZE (16 * 16)

__global__ void matrixMul(const int *a, const int *b, int *c, int N) {
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int col = blockIdx.x * blockDim.x + threadIdx.x;

  __shared__ int s_a[SHMEM_SIZE];
  __shared__ int s_b[SHMEM_SIZE];

  int tmp = 0;
  for (int i = 0; i < N; i += blockDim.x) {
    s_a[threadIdx.y * blockDim.x + threadIdx.x] = a[row * N + i + threadIdx.x];
    s_b[threadIdx.y * blockDim.x + threadIdx.x] = b[i * N + threadIdx.y * N + col];
    __syncthreads();
    for (int j = 0; j < blockDim.x; j++) {
      tmp += s_a[threadIdx.y * blockDim.x + j] * s_b[j * blockDim.x + threadIdx.x];
    }
    __syncthreads();
  }
  c[row * N + col] = tmp;
}

void verify_result(std::vector<int> &a, std::vector<int> &b, std::vector<int> &c, int N) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      int tmp = 0;
      for (int k = 0; k < N; k++) tmp += a[i * N + k] * b[k * N + j];
      assert(tmp == c[i * N + j]);
    }
}

int main() {
  int N = 1 << 6;
  size_t bytes = N * N * sizeof(int);
  std::vector<int> h_a(N * N), h_b(N * N), h_c(N * N);
  for (auto &x : h_a) x = rand() % 100;
  for (auto &x : h_b) x = rand() % 100;
  int *d_a, *d_b, *d_c;
  cudaMalloc(&d_a, bytes);
  cudaMalloc(&d_b, bytes);
  cudaMalloc(&d_c, bytes);
  cudaMemcpy(d_a, h_a.data(), bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(d_b, h_b.data(), bytes, cudaMemcpyHostToDevice);
  int THREADS = 16;
  int BLOCKS = N / THREADS;
  dim3 threads(THREADS, THREADS);
  dim3 blocks(BLOCKS, BLOCKS);
  matrixMul<<<blocks, threads>>>(d_a, d_b, d_c, N);
  cudaMemcpy(h_c.data(), d_c, bytes, cudaMemcpyDeviceToHost);
  verify_result(h_a, h_b, h_c, N);
  std::cout << "COMPLETED SUCCESSFULLY\n";
  cudaFree(d_a);
  cudaFree(d_b);
  cudaFree(d_c);
  return 0;
}
