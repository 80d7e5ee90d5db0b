// bfloat16, for both halves of a program that clang compiles: rounded to nearest even on the way in.
#pragma once
#include "cuda_fp16.h"
struct __nv_bfloat16_raw { unsigned short x; };
struct __nv_bfloat162_raw { unsigned short x, y; };
struct __nv_bfloat16 {
    struct grader___nv_bfloat16 {};
    unsigned short bits;
    __nv_bfloat16() = default;
    __host__ __device__ __nv_bfloat16(float f) {
        unsigned int u;
        memcpy(&u, &f, sizeof u);
        bits = f != f ? 0x7fff : (unsigned short)((u + 0x7fff + (u >> 16 & 1)) >> 16);
    }
    __host__ __device__ __nv_bfloat16(double d) : __nv_bfloat16(grader_odd(d)) {}
    template <class I, class = typename std::enable_if<std::is_integral<I>::value>::type>
    __host__ __device__ __nv_bfloat16(I i) : __nv_bfloat16((double)i) {}
    __host__ __device__ __nv_bfloat16(const __half &h) : __nv_bfloat16((float)h) {}
    __host__ __device__ __nv_bfloat16(const __nv_bfloat16_raw &raw) : bits(raw.x) {}
    __host__ __device__ operator float() const {
        unsigned int u = (unsigned int)bits << 16;
        float f;
        memcpy(&f, &u, sizeof f);
        return f;
    }
    __host__ __device__ operator __nv_bfloat16_raw() const { return __nv_bfloat16_raw{bits}; }
};
struct alignas(4) __nv_bfloat162 {
    __nv_bfloat16 x, y;
    __nv_bfloat162() = default;
    __host__ __device__ __nv_bfloat162(const __nv_bfloat16 &a, const __nv_bfloat16 &b) : x(a), y(b) {}
    __host__ __device__ __nv_bfloat162(const __nv_bfloat162_raw &raw) { memcpy(this, &raw, 4); }
    __host__ __device__ operator __nv_bfloat162_raw() const { __nv_bfloat162_raw raw; memcpy(&raw, this, 4); return raw; }
};
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;
GRADER_SHORT_FLOAT(__nv_bfloat16, __nv_bfloat162, bfloat16, bfloat162, __floats2bfloat162_rn, __float22bfloat162_rn)
GRADER_BOTH __nv_bfloat162 make_bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return {a, b}; }
#define CUDART_INF_BF16 __ushort_as_bfloat16((unsigned short)0x7F80U)
#define CUDART_NAN_BF16 __ushort_as_bfloat16((unsigned short)0x7FFFU)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16((unsigned short)0x7F7FU)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x0000U)
#define CUDART_ONE_BF16 __ushort_as_bfloat16((unsigned short)0x3F80U)
