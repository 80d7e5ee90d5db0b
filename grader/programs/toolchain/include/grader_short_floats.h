// What numbers of 16 bits have in common: half and bfloat16, each with a pair of two.  Arithmetic goes through float, of
// which every result is rounded once more; of +, -, *, / and roots that gives the same bits.
#pragma once
#include "cuda_runtime.h"
#include <string.h>
#define GRADER_BOTH __host__ __device__ inline
#define GRADER_OP_(T, op) \
    template <class A> GRADER_BOTH auto operator op(const A &a, const A &b) -> decltype(typename A::grader_##T(), A()) { return A((float)a op (float)b); } \
    GRADER_BOTH T &operator op##=(T &a, const T &b) { return a = T((float)a op (float)b); }
#define GRADER_PAIR_OP_(T2, op) \
    GRADER_BOTH T2 operator op(const T2 &a, const T2 &b) { return {a.x op b.x, a.y op b.y}; } \
    GRADER_BOTH T2 &operator op##=(T2 &a, const T2 &b) { return a = a op b; }
#define GRADER_TWO_(T, T2, name, ...) \
    GRADER_BOTH T __h##name(T a, T b) { return T(__VA_ARGS__); } \
    GRADER_BOTH T2 __h##name##2(T2 a, T2 b) { return {__h##name(a.x, b.x), __h##name(a.y, b.y)}; }
#define GRADER_ORDER_(T, T2, name, op) \
    GRADER_BOTH bool __h##name(T a, T b) { return (float)a op (float)b; } \
    GRADER_BOTH bool __h##name##u(T a, T b) { return __hisnan(a) || __hisnan(b) || (float)a op (float)b; } \
    GRADER_BOTH T2 __h##name##2(T2 a, T2 b) { return {T(__h##name(a.x, b.x) ? 1.0f : 0.0f), T(__h##name(a.y, b.y) ? 1.0f : 0.0f)}; } \
    GRADER_BOTH bool __hb##name##2(T2 a, T2 b) { return __h##name(a.x, b.x) && __h##name(a.y, b.y); } \
    GRADER_BOTH bool __hb##name##u2(T2 a, T2 b) { return __h##name##u(a.x, b.x) && __h##name##u(a.y, b.y); }
// A double as a float that is rounded to odd, so that what is made of it is rounded once.
GRADER_BOTH float grader_odd(double d) {
    float f = (float)d;
    unsigned int u;
    memcpy(&u, &f, sizeof u);
    if ((double)f != d && d == d && f - f == 0 && !(u & 1)) {
        bool is_beyond = d > 0 ? (double)f > d : (double)f < d;
        u = is_beyond ? u - 1 : u | 1;
        memcpy(&f, &u, sizeof f);
    }
    return f;
}
// Of the nearest value to x, the one on the side that a rounding names: 0 towards zero, 1 up, -1 down.
template <class T> GRADER_BOTH T grader_rounded(double x, int side) {
    T near(x);
    double back = (double)(float)near;
    if (!(back != x) || x != x) return near;
    bool is_beyond = side == 0 ? (x > 0 ? back > x : back < x) : side > 0 ? back < x : back > x;
    if (!is_beyond) return near;
    unsigned short bits;
    memcpy(&bits, &near, sizeof bits);
    bool grows = side != 0 && (side > 0) == (x > 0);
    if (back == 0) bits = (unsigned short)(x < 0 ? 0x8001 : 1);
    else bits = (unsigned short)(bits + (grows ? 1 : -1));
    memcpy(&near, &bits, sizeof bits);
    return near;
}
#define GRADER_INTEGER_(T, of, name, kind) \
    GRADER_BOTH T __##name##2##of##_rn(kind x) { return T((double)x); } \
    GRADER_BOTH T __##name##2##of##_rz(kind x) { return grader_rounded<T>((double)x, 0); } \
    GRADER_BOTH T __##name##2##of##_ru(kind x) { return grader_rounded<T>((double)x, 1); } \
    GRADER_BOTH T __##name##2##of##_rd(kind x) { return grader_rounded<T>((double)x, -1); } \
    GRADER_BOTH kind __##of##2##name##_rn(T x) { return grader_integer<kind>(rintf((float)x)); } \
    GRADER_BOTH kind __##of##2##name##_rz(T x) { return grader_integer<kind>(truncf((float)x)); } \
    GRADER_BOTH kind __##of##2##name##_ru(T x) { return grader_integer<kind>(ceilf((float)x)); } \
    GRADER_BOTH kind __##of##2##name##_rd(T x) { return grader_integer<kind>(floorf((float)x)); }
template <class I> GRADER_BOTH I grader_integer(float x) {
    const I most = (I)(((I)-1 < (I)0) ? ((unsigned long long)-1 >> (65 - 8 * sizeof(I))) : (unsigned long long)(I)-1);
    const I least = (I)-1 < (I)0 ? (I)(-most - 1) : (I)0;
    if (x != x) return 0;
    return x >= (float)most ? most : x <= (float)least ? least : (I)x;
}
// T, T2: the types; of, of2: what conversions call them; q, q2: what they are called behind a float.
#define GRADER_SHORT_FLOAT(T, T2, of, of2, from_floats, pair_of_floats) \
    GRADER_OP_(T, +) GRADER_OP_(T, -) GRADER_OP_(T, *) GRADER_OP_(T, /) \
    GRADER_BOTH T operator-(const T &a) { return T(-(float)a); } \
    GRADER_BOTH T operator+(const T &a) { return a; } \
    GRADER_BOTH T &operator++(T &a) { return a += T(1.0f); } \
    GRADER_BOTH T &operator--(T &a) { return a -= T(1.0f); } \
    GRADER_PAIR_OP_(T2, +) GRADER_PAIR_OP_(T2, -) GRADER_PAIR_OP_(T2, *) GRADER_PAIR_OP_(T2, /) \
    GRADER_BOTH T2 operator-(const T2 &a) { return {-a.x, -a.y}; } \
    GRADER_BOTH bool operator==(const T2 &a, const T2 &b) { return (float)a.x == (float)b.x && (float)a.y == (float)b.y; } \
    GRADER_BOTH bool operator!=(const T2 &a, const T2 &b) { return !(a == b); } \
    GRADER_BOTH bool __hisnan(T a) { return (float)a != (float)a; } \
    GRADER_BOTH int __hisinf(T a) { return (float)a == INFINITY ? 1 : (float)a == -INFINITY ? -1 : 0; } \
    GRADER_BOTH T __hneg(T a) { return -a; } \
    GRADER_BOTH T __habs(T a) { return T(fabsf((float)a)); } \
    GRADER_BOTH T2 __hneg2(T2 a) { return -a; } \
    GRADER_BOTH T2 __habs2(T2 a) { return {__habs(a.x), __habs(a.y)}; } \
    GRADER_BOTH T2 __hisnan2(T2 a) { return {T(__hisnan(a.x) ? 1.0f : 0.0f), T(__hisnan(a.y) ? 1.0f : 0.0f)}; } \
    GRADER_BOTH T grader_saturated(T a) { return T((float)a >= 0 ? fminf((float)a, 1.0f) : 0.0f); } \
    GRADER_TWO_(T, T2, add, (float)a + (float)b) GRADER_TWO_(T, T2, sub, (float)a - (float)b) \
    GRADER_TWO_(T, T2, mul, (float)a * (float)b) \
    GRADER_TWO_(T, T2, max, fmaxf((float)a, (float)b)) GRADER_TWO_(T, T2, min, fminf((float)a, (float)b)) \
    GRADER_TWO_(T, T2, max_nan, __hisnan(a) || __hisnan(b) ? NAN : fmaxf((float)a, (float)b)) \
    GRADER_TWO_(T, T2, min_nan, __hisnan(a) || __hisnan(b) ? NAN : fminf((float)a, (float)b)) \
    GRADER_BOTH T __hdiv(T a, T b) { return a / b; } \
    GRADER_BOTH T2 __h2div(T2 a, T2 b) { return a / b; } \
    GRADER_BOTH T __hadd_rn(T a, T b) { return a + b; } \
    GRADER_BOTH T __hsub_rn(T a, T b) { return a - b; } \
    GRADER_BOTH T __hmul_rn(T a, T b) { return a * b; } \
    GRADER_BOTH T2 __hadd2_rn(T2 a, T2 b) { return a + b; } \
    GRADER_BOTH T2 __hsub2_rn(T2 a, T2 b) { return a - b; } \
    GRADER_BOTH T2 __hmul2_rn(T2 a, T2 b) { return a * b; } \
    GRADER_BOTH T __hadd_sat(T a, T b) { return grader_saturated(a + b); } \
    GRADER_BOTH T __hsub_sat(T a, T b) { return grader_saturated(a - b); } \
    GRADER_BOTH T __hmul_sat(T a, T b) { return grader_saturated(a * b); } \
    GRADER_BOTH T2 __hadd2_sat(T2 a, T2 b) { return {__hadd_sat(a.x, b.x), __hadd_sat(a.y, b.y)}; } \
    GRADER_BOTH T2 __hsub2_sat(T2 a, T2 b) { return {__hsub_sat(a.x, b.x), __hsub_sat(a.y, b.y)}; } \
    GRADER_BOTH T2 __hmul2_sat(T2 a, T2 b) { return {__hmul_sat(a.x, b.x), __hmul_sat(a.y, b.y)}; } \
    GRADER_BOTH T __hfma(T a, T b, T c) { return T((double)(float)a * (float)b + (float)c); } \
    GRADER_BOTH T __hfma_sat(T a, T b, T c) { return grader_saturated(__hfma(a, b, c)); } \
    GRADER_BOTH T __hfma_relu(T a, T b, T c) { return __hmax(__hfma(a, b, c), T(0.0f)); } \
    GRADER_BOTH T2 __hfma2(T2 a, T2 b, T2 c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; } \
    GRADER_BOTH T2 __hfma2_sat(T2 a, T2 b, T2 c) { return {__hfma_sat(a.x, b.x, c.x), __hfma_sat(a.y, b.y, c.y)}; } \
    GRADER_BOTH T2 __hfma2_relu(T2 a, T2 b, T2 c) { return {__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y)}; } \
    GRADER_ORDER_(T, T2, eq, ==) GRADER_ORDER_(T, T2, ne, !=) GRADER_ORDER_(T, T2, lt, <) \
    GRADER_ORDER_(T, T2, le, <=) GRADER_ORDER_(T, T2, gt, >) GRADER_ORDER_(T, T2, ge, >=) \
    GRADER_BOTH T __float2##of(float f) { return T(f); } \
    GRADER_BOTH T __float2##of##_rn(float f) { return T(f); } \
    GRADER_BOTH T __float2##of##_rz(float f) { return grader_rounded<T>(f, 0); } \
    GRADER_BOTH T __float2##of##_ru(float f) { return grader_rounded<T>(f, 1); } \
    GRADER_BOTH T __float2##of##_rd(float f) { return grader_rounded<T>(f, -1); } \
    GRADER_BOTH T __double2##of(double f) { return T(f); } \
    GRADER_BOTH float __##of##2float(T h) { return (float)h; } \
    GRADER_BOTH T2 __float2##of2##_rn(float f) { return {T(f), T(f)}; } \
    GRADER_BOTH T2 from_floats(float a, float b) { return {T(a), T(b)}; } \
    GRADER_BOTH T2 pair_of_floats(float2 f) { return {T(f.x), T(f.y)}; } \
    GRADER_BOTH float2 __##of2##2float2(T2 h) { return float2{(float)h.x, (float)h.y}; } \
    GRADER_BOTH float __low2float(T2 h) { return (float)h.x; } \
    GRADER_BOTH float __high2float(T2 h) { return (float)h.y; } \
    GRADER_BOTH T2 __halves2##of2(T a, T b) { return {a, b}; } \
    GRADER_BOTH T2 __##of##2##of2(T a) { return {a, a}; } \
    GRADER_BOTH T __low2##of(T2 h) { return h.x; } \
    GRADER_BOTH T __high2##of(T2 h) { return h.y; } \
    GRADER_BOTH T2 __low2##of2(T2 h) { return {h.x, h.x}; } \
    GRADER_BOTH T2 __high2##of2(T2 h) { return {h.y, h.y}; } \
    GRADER_BOTH T2 __lowhigh2highlow(T2 h) { return {h.y, h.x}; } \
    GRADER_BOTH T2 __lows2##of2(T2 a, T2 b) { return {a.x, b.x}; } \
    GRADER_BOTH T2 __highs2##of2(T2 a, T2 b) { return {a.y, b.y}; } \
    GRADER_BOTH short __##of##_as_short(T h) { short s; memcpy(&s, &h, 2); return s; } \
    GRADER_BOTH unsigned short __##of##_as_ushort(T h) { unsigned short s; memcpy(&s, &h, 2); return s; } \
    GRADER_BOTH T __short_as_##of(short s) { T h; memcpy(&h, &s, 2); return h; } \
    GRADER_BOTH T __ushort_as_##of(unsigned short s) { T h; memcpy(&h, &s, 2); return h; } \
    GRADER_INTEGER_(T, of, int, int) GRADER_INTEGER_(T, of, uint, unsigned) \
    GRADER_INTEGER_(T, of, short, short) GRADER_INTEGER_(T, of, ushort, unsigned short) \
    GRADER_INTEGER_(T, of, ll, long long) GRADER_INTEGER_(T, of, ull, unsigned long long)
