// NVIDIA's helper_math.h on both sides, a header of the program's own in angle brackets, and what only nvcc defines.
#include <cstdio>
#include <helper_math.h>
#include <scaled.h>

#ifndef __CUDACC__
#error "not nvcc"
#endif

__host__ __device__ float all(float3 a, float3 b, float4 c, int3 i, uint2 u) {
    float3 v = cross(normalize(a), b) + lerp(a, b, 0.25f) - reflect(a, normalize(b)) / 2.0f;
    v += 2.0f * a;
    v *= make_float3(0.5f, -1.0f, 3.0f);
    v = clamp(v, -20.0f, 20.0f) + fabs(-b) + floorf(a) - fracf(b) + fminf(a, b) * fmaxf(a, b);
    float4 w = smoothstep(make_float4(0.0f), make_float4(4.0f), c) + make_float4(v, 1.0f) + fmodf(c, make_float4(1.5f));
    int3 j = max(i, make_int3(a)) * 3 - abs(-i) + clamp(i, make_int3(-1), make_int3(1));
    uint2 t = min(u, make_uint2(7)) + make_uint2(make_int2(3, 4)) * 2u;
    return length(w) + dot(j, j) + dot(t, t) + dot(make_float2(w.x, w.y), make_float2(v)) + clamp(5, 1, 3) + scaled(lerp(1.0f, 3.0f, 0.5f));
}

__global__ void compute(float *out) {
    float3 a = make_float3(1.25f, -2.5f, 3.75f);
    *out = all(a + 0.5f, make_float3(4.5f, 0.5f, -1.75f), make_float4(1.0f, 2.0f, 3.0f, 5.0f), make_int3(-4, 2, 9), make_uint2(5, 11));
}

int main() {
    float *there, here;
    cudaMalloc(&there, sizeof(float));
    compute<<<1, 1>>>(there);
    cudaMemcpy(&here, there, sizeof(float), cudaMemcpyDeviceToHost);
    float3 a = make_float3(1.25f, -2.5f, 3.75f);
    float own = all(a + 0.5f, make_float3(4.5f, 0.5f, -1.75f), make_float4(1.0f, 2.0f, 3.0f, 5.0f), make_int3(-4, 2, 9), make_uint2(5, 11));
    printf("%.1f %.1f\n", here, own);
    cudaFree(there);
    return 0;
}
