// Numbers of 6 bits in a byte each: what is too large, or no number, becomes the largest.
#pragma once
#include "cuda_fp8.h"
typedef __nv_fp8_storage_t __nv_fp6_storage_t;
typedef __nv_fp8x2_storage_t __nv_fp6x2_storage_t;
typedef __nv_fp8x4_storage_t __nv_fp6x4_storage_t;
enum __nv_fp6_interpretation_t { __NV_E2M3, __NV_E3M2 };
typedef grader_small_float<2, 3, 0x1f, 0x1f, 0x1f> grader_e2m3;
typedef grader_small_float<3, 2, 0x1f, 0x1f, 0x1f> grader_e3m2;
GRADER_SMALL_TYPE(__nv_fp6_e2m3, __nv_fp6x2_e2m3, __nv_fp6x4_e2m3, grader_e2m3, __nv_fp6_storage_t, __nv_fp6x2_storage_t, __nv_fp6x4_storage_t, 8)
GRADER_SMALL_TYPE(__nv_fp6_e3m2, __nv_fp6x2_e3m2, __nv_fp6x4_e3m2, grader_e3m2, __nv_fp6_storage_t, __nv_fp6x2_storage_t, __nv_fp6x4_storage_t, 8)
#define GRADER_ONE_(x) (kind == __NV_E3M2 ? grader_e3m2::of(x, true, rounding == cudaRoundZero) : grader_e2m3::of(x, true, rounding == cudaRoundZero))
#define GRADER_VALUE_(x) (kind == __NV_E3M2 ? grader_e3m2::value(x) : grader_e2m3::value(x))
#define GRADER_TAIL_ , enum cudaRoundMode rounding
GRADER_SMALL_CONVERSIONS(fp6, __nv_fp6_interpretation_t, __nv_fp6_storage_t, __nv_fp6x2_storage_t, 8, GRADER_ONE_, GRADER_VALUE_, , GRADER_TAIL_)
#undef GRADER_ONE_
#undef GRADER_VALUE_
#undef GRADER_TAIL_
