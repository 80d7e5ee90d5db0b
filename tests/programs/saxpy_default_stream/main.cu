#include <cstdio>
__global__ void saxpy(int n, float a, const float *x, float *y) { for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) y[i] = a * x[i] + y[i]; }
int main() {
  const int N = 1 << 10;
  static float x[N], y[N];
  for (int i = 0; i < N; i++) { x[i] = 1.0f; y[i] = 2.0f; }
  float *d_x, *d_y;
  cudaMalloc(&d_x, N * sizeof(float)); cudaMalloc(&d_y, N * sizeof(float));
  cudaMemcpy(d_x, x, N * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(d_y, y, N * sizeof(float), cudaMemcpyHostToDevice);
  cudaEvent_t start, stop; cudaEventCreate(&start); cudaEventCreate(&stop);
  cudaEventRecord(start);
  saxpy<<<(N + 511) / 512, 512>>>(N, 2.0f, d_x, d_y);
  cudaEventRecord(stop);
  cudaMemcpy(y, d_y, N * sizeof(float), cudaMemcpyDeviceToHost);
  cudaEventSynchronize(stop);
  float ms = 0; cudaEventElapsedTime(&ms, start, stop);
  float maxError = 0.0f;
  for (int i = 0; i < N; i++) maxError = max(maxError, abs(y[i] - 4.0f));
  printf("Max error: %f%s\n", maxError, ms > 0 ? "" : " no time");
  cudaFree(d_x); cudaFree(d_y); cudaEventDestroy(start); cudaEventDestroy(stop);
}
