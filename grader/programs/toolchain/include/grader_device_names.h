// Names of device code that host code may see.  Bodies of device functions are not compiled here, so these are never
// called, but for the arithmetic that CUDA gives both sides.
#pragma once
#ifndef GRADER_WHOLE
extern const uint3 threadIdx, blockIdx;
extern const dim3 blockDim, gridDim;
static const int warpSize = 32;
__device__ void __syncthreads();
__device__ void __syncwarp(unsigned = 0xffffffffu);
__device__ void __threadfence();
__device__ void __threadfence_block();
__device__ void __threadfence_system();
template <class T, class U> __device__ T atomicAdd(T *, U);
template <class T, class U> __device__ T atomicSub(T *, U);
template <class T, class U> __device__ T atomicMax(T *, U);
template <class T, class U> __device__ T atomicMin(T *, U);
template <class T, class U> __device__ T atomicExch(T *, U);
template <class T, class U> __device__ T atomicCAS(T *, U, U);
template <class T> __device__ T __ldg(const T *);
template <class T> __device__ T __shfl_down_sync(unsigned, T, unsigned, int = 32);
template <class T> __device__ T __shfl_up_sync(unsigned, T, unsigned, int = 32);
template <class T> __device__ T __shfl_xor_sync(unsigned, T, int, int = 32);
template <class T> __device__ T __shfl_sync(unsigned, T, int, int = 32);
#endif

#define GRADER_MIN_MAX_(T) \
    __host__ __device__ inline constexpr T min(T a, T b) { return b < a ? b : a; } \
    __host__ __device__ inline constexpr T max(T a, T b) { return a < b ? b : a; }
GRADER_MIN_MAX_(int)
GRADER_MIN_MAX_(unsigned)
GRADER_MIN_MAX_(long)
GRADER_MIN_MAX_(unsigned long)
GRADER_MIN_MAX_(long long)
GRADER_MIN_MAX_(unsigned long long)
GRADER_MIN_MAX_(float)
GRADER_MIN_MAX_(double)
#undef GRADER_MIN_MAX_
#define GRADER_MIXED_(A, B, T) \
    __host__ __device__ inline constexpr T min(A a, B b) { return min((T)a, (T)b); } \
    __host__ __device__ inline constexpr T min(B a, A b) { return min((T)a, (T)b); } \
    __host__ __device__ inline constexpr T max(A a, B b) { return max((T)a, (T)b); } \
    __host__ __device__ inline constexpr T max(B a, A b) { return max((T)a, (T)b); }
GRADER_MIXED_(int, unsigned, unsigned)
GRADER_MIXED_(float, double, double)
GRADER_MIXED_(long, unsigned long, unsigned long)
GRADER_MIXED_(long long, unsigned long long, unsigned long long)
#undef GRADER_MIXED_

inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline float __fdividef(float a, float b) { return a / b; }
inline int __float2int_rn(float x) { return (int)rintf(x); }
inline float __int_as_float(int x) { float f; __builtin_memcpy(&f, &x, 4); return f; }
inline int __float_as_int(float x) { int i; __builtin_memcpy(&i, &x, 4); return i; }
