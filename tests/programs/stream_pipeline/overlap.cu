#include <stdio.h>
#include <stdlib.h>
#include <assert.h>
#define STREAMS 4
#define CHUNK 256
static inline cudaError_t checkCuda(cudaError_t result) {
  if (result != cudaSuccess) { fprintf(stderr, "CUDA Runtime Error: %s\n", cudaGetErrorString(result)); assert(result == cudaSuccess); }
  return result;
}
__global__ void work(float *a, int offset) {
  int i = offset + threadIdx.x + blockIdx.x * blockDim.x;
  float x = (float)i, s = sinf(x), c = cosf(x);
  a[i] = a[i] + sqrtf(s * s + c * c);
}
int main() {
  const int n = STREAMS * CHUNK, bytes = n * sizeof(float), part = CHUNK * sizeof(float);
  float *a, *d_a;
  cudaStream_t stream[STREAMS];
  cudaEvent_t done[STREAMS];
  checkCuda(cudaMallocHost((void **)&a, bytes));
  checkCuda(cudaMalloc((void **)&d_a, bytes));
  for (int i = 0; i < STREAMS; ++i) { checkCuda(cudaStreamCreate(&stream[i])); checkCuda(cudaEventCreateWithFlags(&done[i], cudaEventDisableTiming)); }
  memset(a, 0, bytes);
  for (int i = 0; i < STREAMS; ++i) {
    int offset = i * CHUNK;
    checkCuda(cudaMemcpyAsync(&d_a[offset], &a[offset], part, cudaMemcpyHostToDevice, stream[i]));
    work<<<CHUNK / 64, 64, 0, stream[i]>>>(d_a, offset);
    checkCuda(cudaGetLastError());
    checkCuda(cudaMemcpyAsync(&a[offset], &d_a[offset], part, cudaMemcpyDeviceToHost, stream[i]));
    checkCuda(cudaEventRecord(done[i], stream[i]));
  }
  for (int i = 0; i < STREAMS; ++i) checkCuda(cudaEventSynchronize(done[i]));
  float worst = 0;
  for (int i = 0; i < n; i++) worst = fmaxf(worst, fabsf(a[i] - 1.0f));
  printf("max error %s\n", worst < 1e-5 ? "small" : "large");
  for (int i = 0; i < STREAMS; ++i) { checkCuda(cudaStreamDestroy(stream[i])); checkCuda(cudaEventDestroy(done[i])); }
  cudaFree(d_a);
  cudaFreeHost(a);
  return 0;
}
