// half, for both halves of a program that clang compiles.
#pragma once
#include "grader_short_floats.h"
struct __half_raw { unsigned short x; };
struct __half2_raw { unsigned short x, y; };
struct __half {
    struct grader___half {};
    _Float16 value;
    __half() = default;
    __host__ __device__ __half(float f) : value((_Float16)f) { canonical(); }
    __host__ __device__ __half(double f) : value((_Float16)f) { canonical(); }
    template <class I, class = typename std::enable_if<std::is_integral<I>::value>::type>
    __host__ __device__ __half(I i) : value((_Float16)(double)i) {}
    __host__ __device__ __half(const __half_raw &raw) { memcpy(&value, &raw, 2); }
    // As a device has it: one NaN.
    __host__ __device__ void canonical() {
        const unsigned short bits = 0x7fff;
        if (value != value) memcpy(&value, &bits, 2);
    }
    __host__ __device__ operator float() const { return (float)value; }
    __host__ __device__ operator __half_raw() const { __half_raw raw; memcpy(&raw, &value, 2); return raw; }
};
struct alignas(4) __half2 {
    __half x, y;
    __half2() = default;
    __host__ __device__ __half2(const __half &a, const __half &b) : x(a), y(b) {}
    __host__ __device__ __half2(const __half2_raw &raw) { memcpy(this, &raw, 4); }
    __host__ __device__ operator __half2_raw() const { __half2_raw raw; memcpy(&raw, this, 4); return raw; }
};
typedef __half half;
typedef __half2 half2;
typedef __half nv_half;
typedef __half __nv_half;
typedef __half2 nv_half2;
typedef __half2 __nv_half2;
GRADER_SHORT_FLOAT(__half, __half2, half, half2, __floats2half2_rn, __float22half2_rn)
GRADER_BOTH __half2 make_half2(__half a, __half b) { return {a, b}; }
#define CUDART_INF_FP16 __ushort_as_half((unsigned short)0x7C00U)
#define CUDART_NAN_FP16 __ushort_as_half((unsigned short)0x7FFFU)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half((unsigned short)0x0001U)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half((unsigned short)0x7BFFU)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half((unsigned short)0x8000U)
#define CUDART_ZERO_FP16 __ushort_as_half((unsigned short)0x0000U)
#define CUDART_ONE_FP16 __ushort_as_half((unsigned short)0x3C00U)
