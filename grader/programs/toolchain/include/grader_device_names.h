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
// What CUDA's headers give the host beside its own library's.
inline double rcbrt(double x) { return 1.0 / cbrt(x); }
inline double sinpi(double x) { x = fmod(x, 2.0); return x == trunc(x) ? copysign(0.0, x) : sin(3.14159265358979323846 * x); }
inline double cospi(double x) { x = fmod(fabs(x), 2.0); return x == 0.5 || x == 1.5 ? 0.0 : cos(3.14159265358979323846 * x); }
inline void sincospi(double x, double *s, double *c) { *s = sinpi(x); *c = cospi(x); }
inline double normcdf(double x) { return 0.5 * erfc(-x * 0.70710678118654752440); }
inline double erfcx(double x) {
    if (x < 25) return exp(x * x) * erfc(x);
    const double t = 1 / (x * x);
    return 0.56418958354775628695 / x * (1 - t / 2 * (1 - 1.5 * t * (1 - 2.5 * t)));
}
inline double erfcinv(double y) {
    // A rational start (Abramowitz and Stegun 26.2.23), made exact by Newton's steps with Halley's correction.
    if (y <= 0 || y >= 2) return y == 0 ? INFINITY : y == 2 ? -INFINITY : NAN;
    const double p = y < 1 ? y : 2 - y, t = sqrt(-2 * log(p / 2));
    double x = 0.70710678118654752440 * (t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))));
    for (int i = 0; i < 3; i++) { const double e = (erfc(x) - p) * 0.88622692545275801365 * exp(x * x); x += e / (1 + x * e); }
    return y < 1 ? x : -x;
}
inline double erfinv(double x) { return x < -0.5 || x > 0.5 ? erfcinv(1 - x) : [](double x) {
    double y = 0.88622692545275801365 * x * (1 + 0.2617993877991494365 * x * x);
    for (int i = 0; i < 4; i++) { const double e = (erf(y) - x) * 0.88622692545275801365 * exp(y * y); y -= e / (1 + y * e); }
    return y; }(x); }
inline double normcdfinv(double x) { return -1.41421356237309504880 * erfcinv(2 * x); }
#define GRADER_IN_FLOAT_(name) inline float name##f(float x) { return (float)name((double)x); }
GRADER_IN_FLOAT_(rcbrt) GRADER_IN_FLOAT_(sinpi) GRADER_IN_FLOAT_(cospi) GRADER_IN_FLOAT_(normcdf) GRADER_IN_FLOAT_(normcdfinv)
GRADER_IN_FLOAT_(erfcx) GRADER_IN_FLOAT_(erfcinv) GRADER_IN_FLOAT_(erfinv)
#undef GRADER_IN_FLOAT_
inline void sincospif(float x, float *s, float *c) { *s = sinpif(x); *c = cospif(x); }
inline float __fdividef(float a, float b) { return a / b; }
inline int __float2int_rn(float x) { return (int)rintf(x); }
inline float __int_as_float(int x) { float f; __builtin_memcpy(&f, &x, 4); return f; }
inline int __float_as_int(float x) { int i; __builtin_memcpy(&i, &x, 4); return i; }
