// bfloat16 for host code: rounded to nearest even on the way in, arithmetic through float.
#pragma once
#include "cuda_runtime.h"
#include <string.h>
struct __nv_bfloat16 {
    unsigned short bits;
    __nv_bfloat16() = default;
    __host__ __device__ __nv_bfloat16(float f) {
        unsigned int u;
        memcpy(&u, &f, sizeof u);
        bits = f != f ? 0x7fff : (unsigned short)((u + 0x7fff + (u >> 16 & 1)) >> 16);
    }
    __host__ __device__ __nv_bfloat16(double f) : __nv_bfloat16((float)f) {}
    __host__ __device__ __nv_bfloat16(int i) : __nv_bfloat16((float)i) {}
    __host__ __device__ operator float() const {
        unsigned int u = (unsigned int)bits << 16;
        float f;
        memcpy(&f, &u, sizeof f);
        return f;
    }
};
struct __nv_bfloat162 { __nv_bfloat16 x, y; };
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;
inline __nv_bfloat16 __float2bfloat16(float f) { return __nv_bfloat16(f); }
inline __nv_bfloat16 __float2bfloat16_rn(float f) { return __nv_bfloat16(f); }
inline __nv_bfloat16 __double2bfloat16(double f) { return __nv_bfloat16(f); }
inline float __bfloat162float(__nv_bfloat16 h) { return (float)h; }
