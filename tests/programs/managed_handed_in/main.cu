#include <cstdio>
// managed variables by name in kernels, by address as arguments, both in one program, and asked after
const int N = 100;
__managed__ int a[N];
__managed__ int b[2 * N];
__managed__ int c[N], d[N];
__managed__ int step = 5;
__global__ void set(int *p, int v) { p[threadIdx.x] = v; }
__global__ void add_by_name() { b[threadIdx.x] += step; }
__global__ void add(int *p) { p[threadIdx.x] += a[threadIdx.x]; }
int main() {
  set<<<1, N>>>(a, 1);
  set<<<1, N>>>(b + N, 2);
  set<<<1, N>>>(c, 3);
  set<<<1, N>>>(d, 4);
  set<<<1, 1>>>(&step, 7);
  add_by_name<<<1, 2 * N>>>();
  add<<<1, N>>>(a);
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  cudaPointerAttributes of;
  cudaPointerGetAttributes(&of, c);
  printf("%d %d %d %d %d %d %d\n", a[3], b[0], b[N], c[99], d[0], step, of.type == cudaMemoryTypeManaged);
  cudaMemset(c, 0, sizeof c);
  cudaDeviceSynchronize();
  printf("%d\n", c[99]);
}
