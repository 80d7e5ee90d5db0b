// Half precision through CUDA's headers. Operation k of element i goes to out[k * n + i].
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#define PUT(value) out[k++ * n + i] = (value)

extern "C" __global__ void half_ops(const __half* a, const __half* b, __half* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __half x = a[i], y = b[i];
    int k = 0;
    PUT(__hadd(x, y));
    PUT(__hsub(x, y));
    PUT(__hmul(x, y));
    PUT(__hdiv(x, y));
    PUT(__hfma(x, y, x));
    PUT(__hneg(x));
    PUT(__habs(x));
    PUT(__hmin(x, y));
    PUT(__hmax(x, y));
    PUT(__hlt(x, y) ? x : y);
    PUT(hfloor(x));
    PUT(hrint(x));
    PUT(__float2half(__half2float(x) * 1.5f));
    PUT(__int2half_rn(__half2int_rz(x)));
    PUT(__hadd_sat(x, y));
}

extern "C" __global__ void half2_ops(const __half2* a, const __half2* b, __half2* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __half2 x = a[i], y = b[i];
    int k = 0;
    PUT(__hadd2(x, y));
    PUT(__hmul2(x, y));
    PUT(__hfma2(x, y, y));
    PUT(__hsub2(x, y));
    PUT(__lowhigh2highlow(x));
    PUT(__floats2half2_rn(__low2float(x), __high2float(y)));
    PUT(__hmax2(x, y));
}

extern "C" __global__ void bfloat_ops(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __nv_bfloat16 x = a[i], y = b[i];
    int k = 0;
    PUT(__float2bfloat16(__bfloat162float(x) + __bfloat162float(y)));
    PUT(__hmul(x, y));
    PUT(__hadd(x, y));
    PUT(__hlt(x, y) ? x : y);
}

extern "C" __global__ void half_atomics(const int* a, __half2* sums, __half* one, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    atomicAdd(&sums[i & 1], __floats2half2_rn((float)(a[i] & 3), 1.0f));
    atomicAdd(one, __float2half(1.0f));
}
