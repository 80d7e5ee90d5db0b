// Tiles of 4×4: what a block reads is read again by many others.
#include <cstdio>
#include <vector>
const int T = 4;
__global__ void tiled(const float *a, const float *b, float *c, int n) {
  __shared__ float as[T][T], bs[T][T];
  int row = blockIdx.y * T + threadIdx.y, column = blockIdx.x * T + threadIdx.x;
  float sum = 0;
  for (int t = 0; t < (n + T - 1) / T; ++t) {
    int k = t * T;
    as[threadIdx.y][threadIdx.x] = row < n && k + threadIdx.x < n ? a[row * n + k + threadIdx.x] : 0;
    bs[threadIdx.y][threadIdx.x] = column < n && k + threadIdx.y < n ? b[(k + threadIdx.y) * n + column] : 0;
    __syncthreads();
    for (int i = 0; i < T; ++i) sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
    __syncthreads();
  }
  if (row < n && column < n) c[row * n + column] = sum;
}
int main() {
  const int n = 64;
  std::vector<float> host(n * n, 1.0f);
  float *m[3];
  for (float *&p : m) cudaMalloc(&p, n * n * sizeof(float));
  for (int i = 0; i < 2; ++i) cudaMemcpy(m[i], host.data(), n * n * sizeof(float), cudaMemcpyHostToDevice);
  tiled<<<dim3((n + T - 1) / T, (n + T - 1) / T), dim3(T, T)>>>(m[0], m[1], m[2], n);
  cudaMemcpy(host.data(), m[2], n * n * sizeof(float), cudaMemcpyDeviceToHost);
  std::printf("%g\n", host[0]);
  for (float *p : m) cudaFree(p);
}
