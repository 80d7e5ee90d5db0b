// half for host code: conversions and arithmetic through float.
#pragma once
#include "cuda_runtime.h"
struct __half {
    _Float16 value;
    __half() = default;
    __host__ __device__ __half(float f) : value((_Float16)f) {}
    __host__ __device__ __half(double f) : value((_Float16)f) {}
    __host__ __device__ __half(int i) : value((_Float16)i) {}
    __host__ __device__ operator float() const { return (float)value; }
};
struct __half2 { __half x, y; };
typedef __half half;
typedef __half2 half2;
inline __half __float2half(float f) { return __half(f); }
inline __half __float2half_rn(float f) { return __half(f); }
inline __half __double2half(double f) { return __half(f); }
inline __half __int2half_rn(int i) { return __half(i); }
inline float __half2float(__half h) { return (float)h; }
