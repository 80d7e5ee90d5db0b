// Numbers of 4 bits, two in a byte: what is too large, or no number, becomes the largest.
#pragma once
#include "cuda_fp6.h"
typedef __nv_fp8_storage_t __nv_fp4_storage_t;
typedef __nv_fp8_storage_t __nv_fp4x2_storage_t;
typedef __nv_fp8x2_storage_t __nv_fp4x4_storage_t;
enum __nv_fp4_interpretation_t { __NV_E2M1 };
typedef grader_small_float<2, 1, 0x7, 0x7, 0x7> grader_e2m1;
GRADER_SMALL_TYPE(__nv_fp4_e2m1, __nv_fp4x2_e2m1, __nv_fp4x4_e2m1, grader_e2m1, __nv_fp4_storage_t, __nv_fp4x2_storage_t, __nv_fp4x4_storage_t, 4)
#define GRADER_ONE_(x) grader_e2m1::of(x, true, rounding == cudaRoundZero)
#define GRADER_VALUE_(x) grader_e2m1::value(x)
#define GRADER_TAIL_ , enum cudaRoundMode rounding
GRADER_SMALL_CONVERSIONS(fp4, __nv_fp4_interpretation_t, __nv_fp4_storage_t, __nv_fp4x2_storage_t, 4, GRADER_ONE_, GRADER_VALUE_, , GRADER_TAIL_)
#undef GRADER_ONE_
#undef GRADER_VALUE_
#undef GRADER_TAIL_
