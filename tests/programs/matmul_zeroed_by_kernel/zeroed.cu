#include <stdio.h>
#include <stdlib.h>
__global__ void wyzeruj(double *c, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) c[i] = 0.0; }
__global__ void mnoz(const double *a, const double *b, double *c, int n) {
  int x = threadIdx.x + blockDim.x * blockIdx.x, y = threadIdx.y + blockDim.y * blockIdx.y;
  if (x >= n || y >= n) return;
  for (int k = 0; k < n; ++k) c[y * n + x] += a[y * n + k] * b[k * n + x];
}
int main(void) {
  int n = 48, i; size_t s = n * n * sizeof(double);
  double *a = (double *)malloc(s), *b = (double *)malloc(s), *c = (double *)malloc(s), *da, *db, *dc;
  for (i = 0; i < n * n; i++) { a[i] = 1.0; b[i] = 2.0; }
  cudaMalloc((void **)&da, s); cudaMalloc((void **)&db, s); cudaMalloc((void **)&dc, s);
  cudaMemcpy(da, a, s, cudaMemcpyHostToDevice); cudaMemcpy(db, b, s, cudaMemcpyHostToDevice);
  wyzeruj<<<(n * n + 255) / 256, 256>>>(dc, n * n);
  dim3 bl = {8, 8, 1}, gr = {(unsigned)(n + 7) / 8, (unsigned)(n + 7) / 8, 1};
  mnoz<<<gr, bl>>>(da, db, dc, n);
  cudaError_t e = cudaDeviceSynchronize();
  if (e != cudaSuccess) { fprintf(stderr, "blad %s\n", cudaGetErrorString(e)); return 1; }
  cudaMemcpy(c, dc, s, cudaMemcpyDeviceToHost);
  for (i = 0; i < n * n; i++) if (c[i] != 96.0) { printf("zle\n"); return 1; }
  printf("dobrze\n");
  cudaFree(da); cudaFree(db); cudaFree(dc); free(a); free(b); free(c);
  return 0;
}
