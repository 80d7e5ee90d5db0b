// Asynchronous copies to shared memory, as they are lowered for devices without them.
#include <cuda_pipeline.h>

extern "C" __global__ void staged(const float4* a, float* out, int n) {
    __shared__ float4 buffer[2][64];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&buffer[0][t], &a[t], sizeof(float4));
    __pipeline_commit();
    float sum = 0.0f;
    for (int stage = 0; stage < n; ++stage) {
        if (stage + 1 < n) {
            __pipeline_memcpy_async(&buffer[(stage + 1) & 1][t], &a[(stage + 1) * 64 + t], sizeof(float4));
            __pipeline_commit();
        }
        __pipeline_wait_prior(stage + 1 < n ? 1 : 0);
        __syncthreads();
        float4 v = buffer[stage & 1][63 - t];
        sum += v.x + v.y * 2.0f + v.z * 4.0f + v.w * 8.0f;
        __syncthreads();
    }
    out[t] = sum;
}
