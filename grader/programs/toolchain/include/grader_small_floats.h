// What numbers of 4, 6 and 8 bits have in common, for both halves of a program that clang compiles.
#pragma once
#include "cuda_bf16.h"
#ifndef GRADER_ROUND_MODE
#define GRADER_ROUND_MODE
enum cudaRoundMode { cudaRoundNearest, cudaRoundZero, cudaRoundPosInf, cudaRoundMinInf };
#endif
typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned int __nv_fp8x4_storage_t;
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
// A sign, E bits of exponent, M of mantissa.  MOST: the largest number; LOST: what a number that is too large becomes where
// it is not made that; NONE: what is no number.
template <int E, int M, unsigned MOST, unsigned LOST, unsigned NONE> struct grader_small_float {
    static GRADER_BOTH unsigned char of(double x, bool saturates, bool rounds_down = false) {
        if (x != x) return NONE;
        unsigned sign = __builtin_signbit(x) ? 1u << (E + M) : 0;
        double size = sign ? -x : x;
        const int bias = (1 << (E - 1)) - 1;
        if (size - size != 0) return sign | (saturates ? MOST : LOST);
        if (size == 0) return sign;
        unsigned long long raw;
        memcpy(&raw, &size, 8);
        int exponent = (int)(raw >> 52) - 1023;
        if (exponent < 1 - bias) exponent = 1 - bias;
        if (exponent > bias + 1) return sign | (saturates ? MOST : LOST);
        // In units of the last place: a whole number is what is kept.
        double units = size;
        for (int i = exponent - M; i > 0; i--) units *= 0.5;
        for (int i = exponent - M; i < 0; i++) units *= 2.0;
        unsigned kept = (unsigned)units;
        double rest = units - kept;
        if (!rounds_down && (rest > 0.5 || (rest == 0.5 && (kept & 1)))) kept++;
        unsigned bits = ((unsigned)(exponent + bias - 1) << M) + kept;
        return sign | (bits > MOST ? (saturates ? MOST : LOST) : bits);
    }
    static GRADER_BOTH float value(unsigned char bits) {
        const int bias = (1 << (E - 1)) - 1;
        unsigned size = bits & ((1u << (E + M)) - 1);
        if (size > MOST) return size == LOST && LOST != NONE ? (bits >> (E + M) & 1 ? -INFINITY : INFINITY) : NAN;
        int exponent = (int)(size >> M);
        float x = (float)(exponent ? (size & ((1u << M) - 1)) | 1u << M : size);
        for (int i = (exponent ? exponent : 1) - bias - M; i < 0; i++) x *= 0.5f;
        for (int i = (exponent ? exponent : 1) - bias - M; i > 0; i--) x *= 2.0f;
        return bits >> (E + M) & 1 ? -x : x;
    }
};
// A type of one number, and of two and four, whose first lies lowest.  W: bits from one to the next.
#define GRADER_SMALL_TYPE(name, name2, name4, form, S, S2, S4, W) \
    struct name { \
        S __x; \
        name() = default; \
        template <class N, class = typename std::enable_if<std::is_arithmetic<N>::value>::type> \
        GRADER_BOTH explicit name(N x) : __x(form::of((double)x, true)) {} \
        GRADER_BOTH explicit name(const __half &x) : __x(form::of((float)x, true)) {} \
        GRADER_BOTH explicit name(const __nv_bfloat16 &x) : __x(form::of((float)x, true)) {} \
        GRADER_BOTH explicit operator float() const { return form::value((unsigned char)__x); } \
        GRADER_BOTH explicit operator double() const { return (float)*this; } \
        GRADER_BOTH explicit operator __half() const { return __half((float)*this); } \
        GRADER_BOTH explicit operator __nv_bfloat16() const { return __nv_bfloat16((float)*this); } \
        GRADER_BOTH explicit operator bool() const { return (float)*this != 0; } \
        GRADER_BOTH explicit operator int() const { return (int)(float)*this; } \
    }; \
    struct name2 { \
        S2 __x; \
        name2() = default; \
        GRADER_BOTH explicit name2(float2 v) : __x((S2)(form::of(v.x, true) | form::of(v.y, true) << W)) {} \
        GRADER_BOTH explicit name2(double2 v) : __x((S2)(form::of(v.x, true) | form::of(v.y, true) << W)) {} \
        GRADER_BOTH explicit name2(const __half2 &v) : name2(__half22float2(v)) {} \
        GRADER_BOTH explicit name2(const __nv_bfloat162 &v) : name2(__bfloat1622float2(v)) {} \
        GRADER_BOTH explicit operator float2() const { return float2{form::value(__x & ((1u << W) - 1)), form::value(__x >> W & ((1u << W) - 1))}; } \
        GRADER_BOTH explicit operator __half2() const { return __float22half2_rn((float2) * this); } \
    }; \
    struct name4 { \
        S4 __x; \
        name4() = default; \
        GRADER_BOTH explicit name4(float4 v) : __x((S4)(form::of(v.x, true) | form::of(v.y, true) << W | form::of(v.z, true) << 2 * W | (unsigned)form::of(v.w, true) << 3 * W)) {} \
        GRADER_BOTH explicit operator float4() const { \
            const unsigned all = (1u << W) - 1; \
            return float4{form::value(__x & all), form::value(__x >> W & all), form::value(__x >> 2 * W & all), form::value((unsigned)__x >> 3 * W & all)}; \
        } \
    };
// How numbers of one width are converted by functions.  KIND: the type that says which numbers; tail: more parameters.
#define GRADER_SMALL_CONVERSIONS(fp, KIND, S, S2, W, one_of, value_of, before, tail) \
    GRADER_BOTH S __nv_cvt_double_to_##fp(double x, before KIND kind tail) { return one_of(x); } \
    GRADER_BOTH S __nv_cvt_float_to_##fp(float x, before KIND kind tail) { return one_of(x); } \
    GRADER_BOTH S __nv_cvt_halfraw_to_##fp(__half_raw x, before KIND kind tail) { return one_of((float)__half(x)); } \
    GRADER_BOTH S __nv_cvt_bfloat16raw_to_##fp(__nv_bfloat16_raw x, before KIND kind tail) { return one_of((float)__nv_bfloat16(x)); } \
    GRADER_BOTH S2 __nv_cvt_float2_to_##fp##x2(float2 x, before KIND kind tail) { return (S2)(one_of(x.x) | one_of(x.y) << W); } \
    GRADER_BOTH S2 __nv_cvt_double2_to_##fp##x2(double2 x, before KIND kind tail) { return (S2)(one_of(x.x) | one_of(x.y) << W); } \
    GRADER_BOTH S2 __nv_cvt_halfraw2_to_##fp##x2(__half2_raw x, before KIND kind tail) { return (S2)(one_of((float)__half(__half_raw{x.x})) | one_of((float)__half(__half_raw{x.y})) << W); } \
    GRADER_BOTH S2 __nv_cvt_bfloat16raw2_to_##fp##x2(__nv_bfloat162_raw x, before KIND kind tail) { return (S2)(one_of((float)__nv_bfloat16(__nv_bfloat16_raw{x.x})) | one_of((float)__nv_bfloat16(__nv_bfloat16_raw{x.y})) << W); } \
    GRADER_BOTH __half_raw __nv_cvt_##fp##_to_halfraw(S x, KIND kind) { return __half(value_of(x)); } \
    GRADER_BOTH __nv_bfloat16_raw __nv_cvt_##fp##_to_bf16raw(S x, KIND kind) { return __nv_bfloat16(value_of(x)); } \
    GRADER_BOTH __half2_raw __nv_cvt_##fp##x2_to_halfraw2(S2 x, KIND kind) { return __half2(__half(value_of((S)(x & ((1u << W) - 1)))), __half(value_of((S)(x >> W)))); } \
    GRADER_BOTH __nv_bfloat162_raw __nv_cvt_##fp##x2_to_bf162raw(S2 x, KIND kind) { return __nv_bfloat162(__nv_bfloat16(value_of((S)(x & ((1u << W) - 1)))), __nv_bfloat16(value_of((S)(x >> W)))); }
