#include <cstdio>
#include <cstdlib>
#define TILE 32
#define PAD 1
#include "kernels.cuh"
#include "util.h"
int main() {
  const int W = 96, H = 64;
  float *h = new float[W * H], *r = new float[W * H], *d_in, *d_out;
  for (int i = 0; i < W * H; ++i) h[i] = i;
  OK(cudaMalloc(&d_in, W * H * sizeof(float)));
  OK(cudaMalloc(&d_out, W * H * sizeof(float)));
  OK(cudaMemcpy(d_in, h, W * H * sizeof(float), cudaMemcpyHostToDevice));
  dim3 block(TILE, TILE), grid(divUp(W, TILE), divUp(H, TILE));
  k_direct<<<grid, block>>>(d_out, d_in, W, H); OK(cudaGetLastError());
  OK(cudaMemcpy(r, d_out, W * H * sizeof(float), cudaMemcpyDeviceToHost)); check(h, r, W, H);
  k_smem<<<grid, block>>>(d_out, d_in, W, H); OK(cudaGetLastError());
  OK(cudaMemcpy(r, d_out, W * H * sizeof(float), cudaMemcpyDeviceToHost)); check(h, r, W, H);
  k_smem_opt<<<grid, block>>>(d_out, d_in, W, H); OK(cudaGetLastError());
  OK(cudaMemcpy(r, d_out, W * H * sizeof(float), cudaMemcpyDeviceToHost)); check(h, r, W, H);
  cudaFree(d_in); cudaFree(d_out); delete[] h; delete[] r;
}
