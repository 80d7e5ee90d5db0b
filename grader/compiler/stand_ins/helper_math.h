// NVIDIA's sample header of arithmetic with vectors, for both sides: operators component by component, and what
// shaders have.
#pragma once
#define GRADER_BOTH inline __host__ __device__
typedef unsigned int uint;
typedef unsigned short ushort;
// f(component) of each, with commas between them.
#define GRADER_EACH2(f) f(x), f(y)
#define GRADER_EACH3(f) f(x), f(y), f(z)
#define GRADER_EACH4(f) f(x), f(y), f(z), f(w)

GRADER_BOTH float2 make_float2(float s) { return make_float2(s, s); }
GRADER_BOTH float2 make_float2(float3 a) { return make_float2(a.x, a.y); }
GRADER_BOTH float2 make_float2(int2 a) { return make_float2(float(a.x), float(a.y)); }
GRADER_BOTH float2 make_float2(uint2 a) { return make_float2(float(a.x), float(a.y)); }
GRADER_BOTH float3 make_float3(float s) { return make_float3(s, s, s); }
GRADER_BOTH float3 make_float3(float2 a, float s = 0) { return make_float3(a.x, a.y, s); }
GRADER_BOTH float3 make_float3(float4 a) { return make_float3(a.x, a.y, a.z); }
GRADER_BOTH float3 make_float3(int3 a) { return make_float3(float(a.x), float(a.y), float(a.z)); }
GRADER_BOTH float3 make_float3(uint3 a) { return make_float3(float(a.x), float(a.y), float(a.z)); }
GRADER_BOTH float4 make_float4(float s) { return make_float4(s, s, s, s); }
GRADER_BOTH float4 make_float4(float3 a, float s = 0) { return make_float4(a.x, a.y, a.z, s); }
GRADER_BOTH float4 make_float4(int4 a) { return make_float4(float(a.x), float(a.y), float(a.z), float(a.w)); }
GRADER_BOTH float4 make_float4(uint4 a) { return make_float4(float(a.x), float(a.y), float(a.z), float(a.w)); }
GRADER_BOTH int2 make_int2(int s) { return make_int2(s, s); }
GRADER_BOTH int2 make_int2(int3 a) { return make_int2(a.x, a.y); }
GRADER_BOTH int2 make_int2(uint2 a) { return make_int2(int(a.x), int(a.y)); }
GRADER_BOTH int2 make_int2(float2 a) { return make_int2(int(a.x), int(a.y)); }
GRADER_BOTH int3 make_int3(int s) { return make_int3(s, s, s); }
GRADER_BOTH int3 make_int3(int2 a, int s = 0) { return make_int3(a.x, a.y, s); }
GRADER_BOTH int3 make_int3(uint3 a) { return make_int3(int(a.x), int(a.y), int(a.z)); }
GRADER_BOTH int3 make_int3(float3 a) { return make_int3(int(a.x), int(a.y), int(a.z)); }
GRADER_BOTH int4 make_int4(int s) { return make_int4(s, s, s, s); }
GRADER_BOTH int4 make_int4(int3 a, int s = 0) { return make_int4(a.x, a.y, a.z, s); }
GRADER_BOTH int4 make_int4(uint4 a) { return make_int4(int(a.x), int(a.y), int(a.z), int(a.w)); }
GRADER_BOTH int4 make_int4(float4 a) { return make_int4(int(a.x), int(a.y), int(a.z), int(a.w)); }
GRADER_BOTH uint2 make_uint2(uint s) { return make_uint2(s, s); }
GRADER_BOTH uint2 make_uint2(uint3 a) { return make_uint2(a.x, a.y); }
GRADER_BOTH uint2 make_uint2(int2 a) { return make_uint2(uint(a.x), uint(a.y)); }
GRADER_BOTH uint3 make_uint3(uint s) { return make_uint3(s, s, s); }
GRADER_BOTH uint3 make_uint3(uint2 a, uint s = 0) { return make_uint3(a.x, a.y, s); }
GRADER_BOTH uint3 make_uint3(uint4 a) { return make_uint3(a.x, a.y, a.z); }
GRADER_BOTH uint3 make_uint3(int3 a) { return make_uint3(uint(a.x), uint(a.y), uint(a.z)); }
GRADER_BOTH uint4 make_uint4(uint s) { return make_uint4(s, s, s, s); }
GRADER_BOTH uint4 make_uint4(uint3 a, uint s = 0) { return make_uint4(a.x, a.y, a.z, s); }
GRADER_BOTH uint4 make_uint4(int4 a) { return make_uint4(uint(a.x), uint(a.y), uint(a.z), uint(a.w)); }

#define GRADER_SUM_(c) a.c + b.c
#define GRADER_DIFFERENCE_(c) a.c - b.c
#define GRADER_PRODUCT_(c) a.c * b.c
#define GRADER_QUOTIENT_(c) a.c / b.c
#define GRADER_NEGATIVE_(c) -a.c
#define GRADER_OPERATOR_(V, S, n, op, f) \
    GRADER_BOTH V operator op(V a, V b) { return make_##V(GRADER_EACH##n(f)); } \
    GRADER_BOTH V operator op(V a, S s) { return a op make_##V(s); } \
    GRADER_BOTH V operator op(S s, V b) { return make_##V(s) op b; } \
    GRADER_BOTH void operator op##=(V &a, V b) { a = a op b; } \
    GRADER_BOTH void operator op##=(V &a, S s) { a = a op s; }
#define GRADER_RANGE_(V, S, n, lower, upper) \
    GRADER_BOTH V clamp(V v, V low, V high) { return upper(low, lower(v, high)); } \
    GRADER_BOTH V clamp(V v, S low, S high) { return clamp(v, make_##V(low), make_##V(high)); }
#define GRADER_ALL_(V, S, n) \
    GRADER_OPERATOR_(V, S, n, +, GRADER_SUM_) \
    GRADER_OPERATOR_(V, S, n, -, GRADER_DIFFERENCE_) \
    GRADER_OPERATOR_(V, S, n, *, GRADER_PRODUCT_)

GRADER_BOTH float clamp(float v, float low, float high) { return fmaxf(low, fminf(v, high)); }
GRADER_BOTH int clamp(int v, int low, int high) { return max(low, min(v, high)); }
GRADER_BOTH uint clamp(uint v, uint low, uint high) { return max(low, min(v, high)); }
GRADER_BOTH float lerp(float a, float b, float t) { return a + t * (b - a); }
GRADER_BOTH float fracf(float v) { return v - floorf(v); }
GRADER_BOTH float smoothstep(float a, float b, float x) {
    float y = clamp((x - a) / (b - a), 0.0f, 1.0f);
    return y * y * (3.0f - 2.0f * y);
}

#define GRADER_LOWER_(c) min(a.c, b.c)
#define GRADER_UPPER_(c) max(a.c, b.c)
#define GRADER_SIZE_(c) abs(a.c)
#define GRADER_WHOLE_(V, S, n) \
    GRADER_ALL_(V, S, n) \
    GRADER_BOTH V min(V a, V b) { return make_##V(GRADER_EACH##n(GRADER_LOWER_)); } \
    GRADER_BOTH V max(V a, V b) { return make_##V(GRADER_EACH##n(GRADER_UPPER_)); } \
    GRADER_RANGE_(V, S, n, min, max)
#define GRADER_SIGNED_(V, n) \
    GRADER_WHOLE_(V, int, n) \
    GRADER_BOTH V operator-(V a) { return make_##V(GRADER_EACH##n(GRADER_NEGATIVE_)); } \
    GRADER_BOTH V abs(V a) { return make_##V(GRADER_EACH##n(GRADER_SIZE_)); }
GRADER_SIGNED_(int2, 2)
GRADER_SIGNED_(int3, 3)
GRADER_SIGNED_(int4, 4)
GRADER_WHOLE_(uint2, uint, 2)
GRADER_WHOLE_(uint3, uint, 3)
GRADER_WHOLE_(uint4, uint, 4)
#define GRADER_DOT_(S, prefix) \
    GRADER_BOTH S dot(prefix##2 a, prefix##2 b) { return a.x * b.x + a.y * b.y; } \
    GRADER_BOTH S dot(prefix##3 a, prefix##3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; } \
    GRADER_BOTH S dot(prefix##4 a, prefix##4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }
GRADER_DOT_(float, float)
GRADER_DOT_(int, int)
GRADER_DOT_(uint, uint)

#define GRADER_LOWER_F_(c) fminf(a.c, b.c)
#define GRADER_UPPER_F_(c) fmaxf(a.c, b.c)
#define GRADER_FLOOR_(c) floorf(a.c)
#define GRADER_FRACTION_(c) fracf(a.c)
#define GRADER_REST_(c) fmodf(a.c, b.c)
#define GRADER_SIZE_F_(c) fabsf(a.c)
#define GRADER_STEP_(c) smoothstep(a.c, b.c, v.c)
#define GRADER_REAL_(V, n) \
    GRADER_ALL_(V, float, n) \
    GRADER_OPERATOR_(V, float, n, /, GRADER_QUOTIENT_) \
    GRADER_BOTH V operator-(V a) { return make_##V(GRADER_EACH##n(GRADER_NEGATIVE_)); } \
    GRADER_BOTH V fminf(V a, V b) { return make_##V(GRADER_EACH##n(GRADER_LOWER_F_)); } \
    GRADER_BOTH V fmaxf(V a, V b) { return make_##V(GRADER_EACH##n(GRADER_UPPER_F_)); } \
    GRADER_RANGE_(V, float, n, fminf, fmaxf) \
    GRADER_BOTH V lerp(V a, V b, float t) { return a + t * (b - a); } \
    GRADER_BOTH float length(V a) { return sqrtf(dot(a, a)); } \
    GRADER_BOTH V normalize(V a) { return a * rsqrtf(dot(a, a)); } \
    GRADER_BOTH V floorf(V a) { return make_##V(GRADER_EACH##n(GRADER_FLOOR_)); } \
    GRADER_BOTH V fracf(V a) { return make_##V(GRADER_EACH##n(GRADER_FRACTION_)); } \
    GRADER_BOTH V fmodf(V a, V b) { return make_##V(GRADER_EACH##n(GRADER_REST_)); } \
    GRADER_BOTH V fabs(V a) { return make_##V(GRADER_EACH##n(GRADER_SIZE_F_)); } \
    GRADER_BOTH V smoothstep(V a, V b, V v) { return make_##V(GRADER_EACH##n(GRADER_STEP_)); }
GRADER_REAL_(float2, 2)
GRADER_REAL_(float3, 3)
GRADER_REAL_(float4, 4)
GRADER_BOTH float3 reflect(float3 a, float3 n) { return a - 2.0f * n * dot(n, a); }
GRADER_BOTH float3 cross(float3 a, float3 b) {
    return make_float3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
