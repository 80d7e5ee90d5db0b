// Complex numbers as CUDA's libraries take them; the same names as on the device.
#pragma once
#include "cuda_runtime.h"
#include <math.h>
typedef float2 cuFloatComplex;
typedef double2 cuDoubleComplex;
typedef cuFloatComplex cuComplex;
#define GRADER_COMPLEX(T, R, f, make, sq) \
    __host__ __device__ inline R cuCreal##f(T a) { return a.x; } \
    __host__ __device__ inline R cuCimag##f(T a) { return a.y; } \
    __host__ __device__ inline T make(R x, R y) { T a; a.x = x; a.y = y; return a; } \
    __host__ __device__ inline T cuConj##f(T a) { return make(a.x, -a.y); } \
    __host__ __device__ inline T cuCadd##f(T a, T b) { return make(a.x + b.x, a.y + b.y); } \
    __host__ __device__ inline T cuCsub##f(T a, T b) { return make(a.x - b.x, a.y - b.y); } \
    __host__ __device__ inline T cuCmul##f(T a, T b) { return make(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); } \
    __host__ __device__ inline T cuCdiv##f(T a, T b) { \
        R s = R(1) / (fabs##f(b.x) + fabs##f(b.y)), ax = a.x * s, ay = a.y * s, bx = b.x * s, by = b.y * s; \
        R n = R(1) / (bx * bx + by * by); \
        return make((ax * bx + ay * by) * n, (ay * bx - ax * by) * n); \
    } \
    __host__ __device__ inline R cuCabs##f(T a) { \
        R x = fabs##f(a.x), y = fabs##f(a.y), v = x > y ? x : y, w = x > y ? y : x, t = v == 0 ? R(0) : w / v; \
        t = v * sq(R(1) + t * t); \
        return v == 0 || v > (sizeof(R) == 4 ? R(3.402823466e38f) : R(1.79769313486231570e308)) || w > (sizeof(R) == 4 ? R(3.402823466e38f) : R(1.79769313486231570e308)) ? v + w : t; \
    } \
    __host__ __device__ inline T cuCfma##f(T a, T b, T c) { \
        R re = a.x * b.x + c.x, im = a.x * b.y + c.y; \
        return make(re - a.y * b.y, a.y * b.x + im); \
    }
GRADER_COMPLEX(cuFloatComplex, float, f, make_cuFloatComplex, sqrtf)
GRADER_COMPLEX(cuDoubleComplex, double, , make_cuDoubleComplex, sqrt)
#undef GRADER_COMPLEX
__host__ __device__ inline cuComplex make_cuComplex(float x, float y) { return make_cuFloatComplex(x, y); }
__host__ __device__ inline cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex a) { return make_cuDoubleComplex(a.x, a.y); }
__host__ __device__ inline cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex a) { return make_cuFloatComplex((float)a.x, (float)a.y); }
