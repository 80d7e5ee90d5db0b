// Code that comes from CUDA's own headers.
#include <cuda_fp16.h>
#include <cuda_pipeline_primitives.h>

extern "C" __global__ void halves(__half* h, float* f) {
    __shared__ float staged[32];
    __pipeline_memcpy_async(&staged[threadIdx.x], &f[threadIdx.x], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    h[threadIdx.x] = __hfma(h[0], h[1], __float2half(staged[threadIdx.x]));
}
