#ifndef KERNELS_H
#define KERNELS_H
void fill_on_gpu(int *host, int n, int value);
void scale_on_gpu(int *host, int n, int by);
#endif
