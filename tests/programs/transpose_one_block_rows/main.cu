#include <stdio.h>
#define N 24
__global__ void transp(int a[N][N], int b[N][N]) { b[threadIdx.x][threadIdx.y] = a[threadIdx.y][threadIdx.x]; }
int main() {
  static int h[N][N], r[N][N]; int (*a)[N], (*b)[N];
  for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) h[i][j] = i * N + j;
  cudaMalloc(&a, sizeof h); cudaMalloc(&b, sizeof h);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  transp<<<1, dim3(N, N)>>>(a, b);
  cudaMemcpy(r, b, sizeof h, cudaMemcpyDeviceToHost);
  for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) if (r[j][i] != h[i][j]) { printf("bad\n"); return 1; }
  printf("ok\n"); return 0;
}
