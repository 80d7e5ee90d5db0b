// cuRAND's generators for device code, as a stand-in of our own: the names and the distributions of the library, other
// numbers.  Each generator is Marsaglia's xorwow ("Xorshift RNGs", Journal of Statistical Software 8(14), 2003); where a
// sequence begins follows from seed, sequence and offset by the finalizer of splitmix64.
#pragma once

struct curandStateXORWOW {
    unsigned int d, v[5];
    int boxmuller_flag, boxmuller_flag_double;
    float boxmuller_extra;
    double boxmuller_extra_double;
};
typedef struct curandStateXORWOW curandStateXORWOW_t, curandState_t, curandState;
struct curandStatePhilox4_32_10 { struct curandStateXORWOW own; unsigned int more[4]; };
typedef struct curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;
struct curandStateMRG32k3a { struct curandStateXORWOW own; double more[2]; };
typedef struct curandStateMRG32k3a curandStateMRG32k3a_t;

__device__ inline curandStateXORWOW *grader_curand(curandStateXORWOW *s) { return s; }
__device__ inline curandStateXORWOW *grader_curand(curandStatePhilox4_32_10 *s) { return &s->own; }
__device__ inline curandStateXORWOW *grader_curand(curandStateMRG32k3a *s) { return &s->own; }

__device__ inline unsigned long long grader_curand_mix(unsigned long long x)
{
    x += 0x9E3779B97F4A7C15ull;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x ^ (x >> 31);
}
template <class S>
__device__ inline void curand_init(unsigned long long seed, unsigned long long sequence, unsigned long long offset, S *state)
{
    curandStateXORWOW *s = grader_curand(state);
    unsigned long long x = grader_curand_mix(seed ^ grader_curand_mix(sequence ^ grader_curand_mix(offset)));
    for (int i = 0; i < 5; i++) {
        x = grader_curand_mix(x);
        s->v[i] = (unsigned int)x | (i == 0);
    }
    s->d = (unsigned int)(x >> 32);
    s->boxmuller_flag = s->boxmuller_flag_double = 0;
    s->boxmuller_extra = 0;
    s->boxmuller_extra_double = 0;
}
template <class S> __device__ inline unsigned int curand(S *state)
{
    curandStateXORWOW *s = grader_curand(state);
    unsigned int t = s->v[0] ^ (s->v[0] >> 2);
    s->v[0] = s->v[1];
    s->v[1] = s->v[2];
    s->v[2] = s->v[3];
    s->v[3] = s->v[4];
    s->v[4] = (s->v[4] ^ (s->v[4] << 4)) ^ (t ^ (t << 1));
    s->d += 362437u;
    return s->v[4] + s->d;
}
// 0 is left out, 1 is not: (0, 1].
template <class S> __device__ inline float curand_uniform(S *s) { return curand(s) * 2.3283064e-10f + 1.1641532e-10f; }
template <class S> __device__ inline double curand_uniform_double(S *s)
{
    unsigned long long high = curand(s), low = curand(s);
    return (((high << 21) ^ (low >> 11)) + 1) * 1.1102230246251565e-16;
}
template <class S> __device__ inline float2 curand_normal2(S *s)
{
    float radius = sqrtf(-2.0f * logf(curand_uniform(s))), angle = 6.2831855f * curand_uniform(s);
    return make_float2(radius * cosf(angle), radius * sinf(angle));
}
template <class S> __device__ inline double2 curand_normal2_double(S *s)
{
    double radius = sqrt(-2.0 * log(curand_uniform_double(s))), angle = 6.283185307179586 * curand_uniform_double(s);
    return make_double2(radius * cos(angle), radius * sin(angle));
}
template <class S> __device__ inline float curand_normal(S *state)
{
    curandStateXORWOW *s = grader_curand(state);
    if (s->boxmuller_flag) {
        s->boxmuller_flag = 0;
        return s->boxmuller_extra;
    }
    float2 both = curand_normal2(s);
    s->boxmuller_flag = 1;
    s->boxmuller_extra = both.y;
    return both.x;
}
template <class S> __device__ inline double curand_normal_double(S *state)
{
    curandStateXORWOW *s = grader_curand(state);
    if (s->boxmuller_flag_double) {
        s->boxmuller_flag_double = 0;
        return s->boxmuller_extra_double;
    }
    double2 both = curand_normal2_double(s);
    s->boxmuller_flag_double = 1;
    s->boxmuller_extra_double = both.y;
    return both.x;
}
template <class S> __device__ inline float curand_log_normal(S *s, float mean, float deviation) { return expf(mean + deviation * curand_normal(s)); }
template <class S> __device__ inline double curand_log_normal_double(S *s, double mean, double deviation) { return exp(mean + deviation * curand_normal_double(s)); }
template <class S> __device__ inline unsigned int curand_poisson(S *s, double lambda)
{
    unsigned int count = 0;
    // Knuth's way, in parts that exp() can tell from 0.
    while (lambda > 0) {
        double part = lambda < 500 ? lambda : 500, product = exp(-part), left = 1;
        lambda -= part;
        while ((left *= curand_uniform_double(s)) > product) count++;
    }
    return count;
}
template <class S> __device__ inline uint4 curand4(S *s) { return make_uint4(curand(s), curand(s), curand(s), curand(s)); }
template <class S> __device__ inline float4 curand_uniform4(S *s) { return make_float4(curand_uniform(s), curand_uniform(s), curand_uniform(s), curand_uniform(s)); }
template <class S> __device__ inline float4 curand_normal4(S *s) { return make_float4(curand_normal(s), curand_normal(s), curand_normal(s), curand_normal(s)); }
template <class S> __device__ inline void skipahead(unsigned long long n, S *s) { while (n-- > 0) curand(s); }
