#ifndef KERNELS_H
#define KERNELS_H
void launchNaive(const float *a, const float *b, float *c, int n);
void launchTiled(const float *a, const float *b, float *c, int n);
#endif
