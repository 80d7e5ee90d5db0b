// Both axes of the grid are made of the height.
#include <cstdio>
#include <cstdlib>
#define SIDE 32
__global__ void naive(float *to, const float *from, int height, int width) {
  int x = blockIdx.x * SIDE + threadIdx.x, y = blockIdx.y * SIDE + threadIdx.y;
  if (x < width && y < height) to[x * height + y] = from[y * width + x];
}
int turn(const float *from, float *to, int height, int width) {
  dim3 blocks((height + SIDE - 1) / SIDE, (height + SIDE - 1) / SIDE);
  naive<<<blocks, dim3(SIDE, SIDE)>>>(to, from, height, width);
  return cudaGetLastError();
}
int main() {
  const int n = 128;
  float *host = (float *)calloc(n * n, sizeof(float)), *from, *to;
  cudaMalloc((void **)&from, n * n * sizeof(float));
  cudaMalloc((void **)&to, n * n * sizeof(float));
  cudaMemcpy(from, host, n * n * sizeof(float), cudaMemcpyHostToDevice);
  if (turn(from, to, n, n)) return 1;
  cudaMemcpy(host, to, n * n * sizeof(float), cudaMemcpyDeviceToHost);
  printf("%g\n", host[1]);
  cudaFree(from);
  cudaFree(to);
  free(host);
}
