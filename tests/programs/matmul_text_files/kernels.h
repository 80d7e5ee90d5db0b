#ifndef KERNELS_H_
#define KERNELS_H_

enum { WITHOUT_TILES, WITH_TILES };

/* c = a * b for matrices of n x n elements; returns a text where the GPU could not. */
typedef const char *(*multiply_t)(const float *a, const float *b, float *c, int n, float *ms);

const char *multiply_simple(const float *a, const float *b, float *c, int n, float *ms);
const char *multiply_tiles(const float *a, const float *b, float *c, int n, float *ms);

#endif
