// The array's length is a constant of an unusual name beside the radius.
#include <cstdio>
#include <cstdlib>
#define RADIUS 2
#define THREADS 64
#define HOW_MANY 4096
__global__ void blur_shared(const float *in, float *out) {
  __shared__ float temp[THREADS + 2 * RADIUS];
  int i = blockIdx.x * THREADS + threadIdx.x, s = threadIdx.x + RADIUS;
  temp[s] = i < HOW_MANY ? in[i] : 0;
  if (threadIdx.x < RADIUS) {
    temp[s - RADIUS] = i >= RADIUS ? in[i - RADIUS] : 0;
    temp[s + THREADS] = i + THREADS < HOW_MANY ? in[i + THREADS] : 0;
  }
  __syncthreads();
  if (i >= HOW_MANY) return;
  if (i < RADIUS || i >= HOW_MANY - RADIUS) {
    out[i] = in[i];
    return;
  }
  float sum = 0;
  for (int k = -RADIUS; k <= RADIUS; ++k) sum += temp[s + k];
  out[i] = sum / (2 * RADIUS + 1);
}
int main() {
  float *host = (float *)malloc(HOW_MANY * sizeof(float)), *in, *out;
  for (int i = 0; i < HOW_MANY; ++i) host[i] = i;
  cudaMalloc(&in, HOW_MANY * sizeof(float));
  cudaMalloc(&out, HOW_MANY * sizeof(float));
  cudaMemcpy(in, host, HOW_MANY * sizeof(float), cudaMemcpyHostToDevice);
  blur_shared<<<HOW_MANY / THREADS, THREADS>>>(in, out);
  cudaMemcpy(host, out, HOW_MANY * sizeof(float), cudaMemcpyDeviceToHost);
  printf("%g\n", host[10]);
  cudaFree(in);
  cudaFree(out);
  free(host);
}
