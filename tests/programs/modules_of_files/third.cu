#include <cuda_runtime.h>
extern "C" __global__ void third(int *v, int n) {
    if (threadIdx.x < n) v[threadIdx.x] /= 3;
}
