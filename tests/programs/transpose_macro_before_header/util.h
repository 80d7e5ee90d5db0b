#pragma once
#include <cstdio>
#include <cstdlib>
#define OK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { printf("%s\n", cudaGetErrorString(e_)); exit(1); } } while (0)
inline int divUp(int a, int b) { return (a + b - 1) / b; }
inline void check(const float *h, const float *r, int w, int hgt) {
  for (int y = 0; y < hgt; ++y) for (int x = 0; x < w; ++x) if (r[x * hgt + y] != h[y * w + x]) { printf("bad\n"); return; }
  printf("good\n");
}
