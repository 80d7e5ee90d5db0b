// Numbers of 8 bits: e4m3, which has no infinity, and e5m2.
#pragma once
#include "grader_small_floats.h"
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };
typedef grader_small_float<4, 3, 0x7e, 0x7f, 0x7f> grader_e4m3;
typedef grader_small_float<5, 2, 0x7b, 0x7c, 0x7f> grader_e5m2;
GRADER_SMALL_TYPE(__nv_fp8_e4m3, __nv_fp8x2_e4m3, __nv_fp8x4_e4m3, grader_e4m3, __nv_fp8_storage_t, __nv_fp8x2_storage_t, __nv_fp8x4_storage_t, 8)
GRADER_SMALL_TYPE(__nv_fp8_e5m2, __nv_fp8x2_e5m2, __nv_fp8x4_e5m2, grader_e5m2, __nv_fp8_storage_t, __nv_fp8x2_storage_t, __nv_fp8x4_storage_t, 8)
// The number of a power of two alone, 255 being none.
struct __nv_fp8_e8m0 {
    __nv_fp8_storage_t __x;
    __nv_fp8_e8m0() = default;
    GRADER_BOTH explicit operator float() const {
        unsigned bits = __x == 255 ? 0x7fffffffu : __x ? (unsigned)__x << 23 : 0x400000u;
        float f;
        memcpy(&f, &bits, 4);
        return f;
    }
};
#define GRADER_ONE_(x) (kind == __NV_E5M2 ? grader_e5m2::of(x, saturates == __NV_SATFINITE) : grader_e4m3::of(x, saturates == __NV_SATFINITE))
#define GRADER_VALUE_(x) (kind == __NV_E5M2 ? grader_e5m2::value(x) : grader_e4m3::value(x))
#define GRADER_BEFORE_ __nv_saturation_t saturates,
GRADER_SMALL_CONVERSIONS(fp8, __nv_fp8_interpretation_t, __nv_fp8_storage_t, __nv_fp8x2_storage_t, 8, GRADER_ONE_, GRADER_VALUE_, GRADER_BEFORE_, )
#undef GRADER_ONE_
#undef GRADER_VALUE_
#undef GRADER_BEFORE_
