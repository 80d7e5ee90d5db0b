#include "twice.h"
extern "C" __global__ void twice(int *v, int n) {
    if (threadIdx.x < n) v[threadIdx.x] *= FACTOR;
}
