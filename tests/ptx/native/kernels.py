"""Kernels of which generated code carries out whole threads, with their arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.ptx.running import Bytes

N = 40_960
RNG = np.random.default_rng(7)
FLOATS = RNG.standard_normal(N).astype(np.float32)
BITS = RNG.integers(0, 1 << 32, N, dtype=np.uint32)
WHERE = "int i = blockIdx.x * blockDim.x + threadIdx.x;"

KERNELS: dict[str, tuple[str, list[Any]]] = {
    "a loop that each thread leaves at a time of its own": (
        f"""__global__ void k(int* out, const unsigned* in) {{ {WHERE}
            unsigned v = in[i] % 10007, n = 0; while (v != 1) {{ v = v & 1 ? 3 * v + 1 : v / 2;
                if (++n == 200) break; }}
            out[i] = n; }}""",
        [Bytes(4 * N), BITS],
    ),
    "a part of a number that all threads load": (
        f"""__global__ void k(unsigned long long* out, const int* in) {{ {WHERE} short v = (short)in[0]; unsigned w = v;
            out[i] = (unsigned long long)(long long)v * 3 + w; }}""",
        [Bytes(8 * N), BITS.view(np.int32) | 1 << 30],
    ),
    "nested loops with continue, break and switch": (
        f"""__global__ void k(float* out, const float* in) {{ {WHERE} float s = 0;
            for (int a = 0; a < i % 7; a++) {{ if (a == 3) continue;
                for (int b = a; b < 9; b++) {{ if (in[i] * b > 4.f) break;
                    switch ((a + b) % 4) {{ case 0: s += b; break; case 1: s -= a; case 2: s *= 1.5f; break;
                    default: s = -s; }} }} }}
            out[i] = s; }}""",
        [Bytes(4 * N), FLOATS],
    ),
    "barriers in a loop, and threads that have returned": (
        f"""__global__ void k(float* out, const float* in, int n) {{ __shared__ float s[256]; {WHERE}
            int t = threadIdx.x; s[t] = 0; if (i >= n) return; s[t] = in[i]; __syncthreads();
            for (int d = 1; d < 128; d *= 2) {{ float v = t >= d ? s[t - d] : 0; __syncthreads(); s[t] += v;
                __syncthreads(); }}
            out[i] = s[t]; }}""",
        [np.zeros(N, np.float32), FLOATS, np.int32(N - 256)],
    ),
    "a barrier in the middle of a condition that the block agrees on": (
        f"""__global__ void k(int* out, const unsigned* in) {{ __shared__ unsigned s[256]; {WHERE} int t = threadIdx.x;
            s[t] = in[i]; __syncthreads(); unsigned v = s[t];
            if (blockIdx.x % 3) {{ v ^= s[255 - t]; __syncthreads(); s[t] = v; __syncthreads();
                v += s[(t + 7) % 256]; }}
            out[i] = v; }}""",
        [Bytes(4 * N), BITS],
    ),
    "NaNs whose bits are looked at": (
        f"""__global__ void k(unsigned* out, const float* in) {{ {WHERE} float z = in[i], v = 0;
            for (int a = 0; a < 4; a++) {{ v = v * z + a; v = -v; }} float w = z + 1; out[i] = __float_as_uint(v);
            out[i + {N}] = __float_as_uint(w > v ? w : v) ^ __float_as_uint(fminf(v, w));
                ((float*)out)[i + 2 * {N}] = z; }}""",
        [Bytes(12 * N), BITS.view(np.float32)],
    ),
    "double precision, fused and not": (
        f"""__global__ void k(double* out, const unsigned* in) {{ {WHERE}
            double a = __hiloint2double(in[i], 77), b = in[(i + 9) % {N}] * 1e-9, s = 0;
            for (int k = 0; k < 5; k++) s = s * b + a / (k + 1) - b * a; out[i] = sqrt(fabs(s)); }}""",
        [Bytes(8 * N), BITS],
    ),
    "functions that are approximated": (
        f"""__global__ void k(float* out, const float* in) {{ {WHERE} float v = in[i];
            out[i] = __expf(v) + __logf(fabsf(v)) * __sinf(v * 40) - __cosf(v) + expf(v / 3) + powf(fabsf(v), 1.7f)
                + rsqrtf(v * v + 1) + sinf(v * 3) + tanhf(v); }}""",
        [Bytes(4 * N), FLOATS],
    ),
    "narrow, wide and misfit numbers": (
        f"""__global__ void k(unsigned char* out, const uint4* in) {{ {WHERE} uint4 v = in[i / 4];
            short a = v.x; signed char b = v.y >> 3; unsigned long long c = (unsigned long long)v.z << 32 | v.w;
            c = c / (i + 1) + a * b + c % 1000003 + __popc(v.x) + __clz(v.y) + __umulhi(v.x, v.z) + (c >> (i & 63));
            out[i] = c; ((unsigned short*)(out + {N}))[i] = c >> 8; }}""",
        [Bytes(3 * N), BITS],
    ),
    "bits moved about": (
        f"""__global__ void k(unsigned* out, const unsigned* in) {{
                {WHERE} unsigned a = in[i], b = in[(i + 1) % {N}], c, d, e;
            asm("lop3.b32 %0, %1, %2, %3, 0x5D;" : "=r"(c) : "r"(a), "r"(b), "r"(i));
            asm("bfe.u32 %0, %1, 5, 11;" : "=r"(d) : "r"(a)); asm("bfe.s32 %0, %1, 20, 12;" : "=r"(e) : "r"(b));
            out[i] = c ^ d ^ e ^ __brev(a) ^ __funnelshift_l(a, b, i) ^ __funnelshift_r(a, b, i / 3)
                ^ __funnelshift_lc(a, b, i % 40) ^ __funnelshift_rc(b, a, i % 40);
            unsigned long long u = (unsigned long long)a << 32 | b;
                asm("bfi.b32 %0, %1, %2, 3, 9;" : "=r"(c) : "r"(a), "r"(b));
            out[i + {N}] = __umul64hi(u, u * 7 + 3) ^ __mul64hi(u, -u * 5) ^ c; }}""",
        [Bytes(8 * N), BITS],
    ),
    "float32 rounded in other ways": (
        f"""__global__ void k(float* out, const float* in) {{ {WHERE} float a = in[i], b = in[(i + 1) % {N}], c;
            asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(c) : "f"(b));
            out[i] = __fmaf_rd(a, b, in[(i + 2) % {N}]); out[i + {N}] = c;
                out[i + 2 * {N}] = __saturatef(a) + copysignf(b, a);
            out[i + 3 * {N}] = __fmaf_rd(a, 1.f, -a) + floorf(a) + ceilf(b) * truncf(a) - rintf(b); }}""",
        [Bytes(16 * N), BITS.view(np.float32)],
    ),
    "functions that are called, with structs, arrays and calls of their own": (
        f"""struct P {{ int a; float b; short c; unsigned char d; double e; }};
        __device__ __noinline__ double area(P p, bool twice) {{ return twice ? p.e * 2 + p.d : p.a + p.b + p.c; }}
        __device__ __noinline__ P made(unsigned v, short c) {{ P p = {{(int)v, v * 0.5f, c, (unsigned char)v, v / 3.0}};
            if (v & 4) p.e = area(p, v & 1); return p; }}
        __device__ __noinline__ unsigned chosen(unsigned v, unsigned n) {{ unsigned own[8];
            for (int k = 0; k < 8; k++) own[k] = v * k; if (n & 1) return own[v & 7]; own[n & 7] ^= n;
            return own[(v >> 3) & 7]; }}
        __global__ void k(double* out, const unsigned* in) {{ {WHERE} __shared__ double s[256]; double sum = 0;
            for (unsigned k = 0; k < (in[i] & 3); k++) {{ P p = made(in[i] + k, (short)(in[i] >> k));
                sum += area(p, k == 1) + chosen(in[i], k); }}
            s[threadIdx.x] = sum; __syncthreads(); P p = made(i, i); out[i] = s[255 - threadIdx.x] + area(p, i & 1);
                }}""",
        [Bytes(8 * N), BITS],
    ),
    "halves compared, numbers or not": (
        f"""__global__ void k(unsigned* out, const unsigned* in) {{ {WHERE} unsigned sum = 0, one;
            unsigned short a = in[i], b = in[i] & 8 ? 0x7E01 : in[i] & 4 ? a : in[i] >> 16;
            #define ADD(r, t) asm("{{ .reg .pred p; setp." r "." t " p, %1, %2; selp.u32 %0, 1, 0, p; }}" \\
                : "=r"(one) : "h"(a), "h"(b)); sum = sum * 2 + one;
            #define BOTH(r) ADD(r, "f16") ADD(r, "bf16")
            BOTH("eq") BOTH("ne") BOTH("lt") BOTH("ge") BOTH("equ") BOTH("neu") BOTH("leu") BOTH("gtu") BOTH("num")
            BOTH("nan") out[i] = sum; }}""",
        [Bytes(4 * N), BITS],
    ),
    "votes, shuffles and barriers after functions that return early": (
        f"""__shared__ unsigned s[256];
        __device__ __noinline__ unsigned early(unsigned v) {{ if (v % 3 == 0) return v >> 1; if (v % 3 == 1)
            for (unsigned k = 0; k < 9; k++) if (v >> k & 1) return k; return v ^ 5; }}
        __device__ __noinline__ unsigned turned(unsigned v) {{ __syncthreads(); s[threadIdx.x] = v; __syncthreads();
            return s[255 - threadIdx.x]; }}
        __global__ void k(unsigned* out, const unsigned* in) {{ {WHERE} unsigned v = early(in[i]);
            v += __ballot_sync(~0u, v & 1); v ^= __shfl_xor_sync(~0u, v, 3); out[i] = turned(v) + turned(v * 3); }}""",
        [Bytes(4 * N), BITS],
    ),
    "half precision": (
        f"""__global__ void k(unsigned* out, const unsigned* in) {{ {WHERE} unsigned a = in[i],
                b = in[(i + 1) % {N}], c, d, e;
            unsigned short x = a, y = b, z = a >> 16, w, v; float f = (int)b * 1e-7f, g; int n; unsigned u;
            asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(c) : "r"(a), "r"(b), "r"(a ^ b >> 3)); out[i] = c;
            asm("add.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
                asm("sub.f16x2 %0, %1, %2;" : "=r"(e) : "r"(c), "r"(b));
            out[i + {N}] = d ^ e << 1; asm("mul.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(d)); out[i + 2 * {N}] = d;
            asm("fma.rn.f16 %0, %1, %2, %3;" : "=h"(w) : "h"(x), "h"(y), "h"(z)); out[i + 3 * {N}] = w;
            asm("cvt.rn.f16.f32 %0, %1;" : "=h"(w) : "f"(f)); asm("cvt.f32.f16 %0, %1;" : "=f"(g) : "h"(z));
            out[i + 4 * {N}] = w ^ __float_as_uint(g); asm("cvt.rmi.s32.f16 %0, %1;" : "=r"(n) : "h"(y));
            asm("cvt.rzi.u32.f16 %0, %1;" : "=r"(u) : "h"(x)); asm("cvt.rn.f16.s32 %0, %1;" : "=h"(w) : "r"(n * i));
            out[i + 5 * {N}] = n ^ u << 9 ^ w << 16; asm("min.f16 %0, %1, %2;" : "=h"(w) : "h"(x), "h"(y));
            asm("max.f16 %0, %1, %2;" : "=h"(v) : "h"(y), "h"(z)); out[i + 6 * {N}] = w | v << 16;
            asm("{{.reg .pred p; setp.lt.f16 p, %1, %2; selp.u32 %0, 1, 2, p; }}" : "=r"(u) : "h"(x), "h"(y));
            asm("{{.reg .pred p; setp.neu.f16 p, %1, %2; selp.u32 %0, 3, 4, p; }}" : "=r"(n) : "h"(x), "h"(z));
            asm("neg.f16 %0, %1;" : "=h"(w) : "h"(x)); asm("abs.f16 %0, %1;" : "=h"(v) : "h"(y));
            asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(c) : "f"(f), "f"(g));
            out[i + 7 * {N}] = u ^ n * 5 ^ w << 16 ^ v << 4 ^ c; }}""",
        [Bytes(32 * N), BITS],
    ),
    "sixteen bits of bfloat16": (
        f"""__global__ void k(unsigned* out, const unsigned* in) {{ {WHERE} unsigned a = in[i],
                b = in[(i + 1) % {N}], c;
            unsigned short x = a, y = b, z; float f = __uint_as_float(b);
                asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(z) : "f"(f));
            asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(c) : "f"(f), "f"(__uint_as_float(a))); out[i] = c;
            asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(c) : "r"(a), "r"(b), "r"(a ^ b)); out[i + {N}] = c;
            asm("max.bf16 %0, %1, %2;" : "=h"(x) : "h"(x), "h"(y)); asm("neg.bf16 %0, %1;" : "=h"(y) : "h"(y));
            out[i + 2 * {N}] = x ^ y << 16; out[i + 3 * {N}] = z; }}""",
        [Bytes(16 * N), BITS],
    ),
    "floats as integers, and rounded in all directions": (
        f"""__global__ void k(unsigned long long* out, const unsigned* in) {{ {WHERE} float f = __uint_as_float(in[i]);
            unsigned j = (i + 1) % {N}; double d = __hiloint2double(in[i], in[j]), e = __hiloint2double(in[j], 5);
            float g = __uint_as_float(in[j]), h = __uint_as_float(in[(i + 2) % {N}]); long long v = (long long)f;
            v ^= (unsigned long long)g ^ __double2ll_rd(d) ^ __double2ull_ru(e) ^ __double2int_rn(d) ^
                __double2uint_rz(e);
            out[i] = v; out[i + {N}] = __double_as_longlong(floor(d)) ^ __double_as_longlong(fmin(d, e))
                ^ __double_as_longlong(fmax(rint(e), trunc(d)));
            unsigned long long w = __float_as_uint(__fadd_rz(f, g)), x = __float_as_uint(__fmul_ru(g, h));
            w ^= (unsigned long long)__float_as_uint(__fmaf_rz(f, g, h)) << 32;
                asm("div.approx.f32 %0, %1, %2;" : "=f"(h)
                : "f"(f), "f"(g)); x ^= (unsigned long long)__float_as_uint(h) << 32;
            w ^= __float_as_uint(__fsub_ru(h, f)) ^ __float_as_uint(__fmul_rz(f * 1e-20f, g)); out[i + 2 * {N}] = w;
            out[i + 3 * {N}] = x ^ __float_as_uint(__fmaf_ru(f, g, -f)) ^ __float_as_uint(__fsub_rd(g, h)); }}""",
        [Bytes(32 * N), BITS],
    ),
    "fields of bits at places that are computed": (
        f"""__global__ void k(unsigned long long* out, const unsigned* in) {{ {WHERE} unsigned a = in[i],
                b = in[i / 3], c, d, e;
            unsigned at = b >> (b & 31) & 255, n = in[i / 5] & 63;
                unsigned long long u = (unsigned long long)a << 32 | b, v, w;
            asm("bfe.u32 %0, %1, %2, %3;" : "=r"(c) : "r"(a), "r"(at), "r"(n));
            asm("bfe.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(at & 35), "r"(n));
            asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(e) : "r"(a), "r"(b), "r"(at), "r"(n));
                out[i] = c ^ (u64_t)d << 32 ^ e;
            asm("bfe.s64 %0, %1, %2, %3;" : "=l"(v) : "l"(u), "r"(at & 71), "r"(n));
            asm("bfi.b64 %0, %1, %2, %3, %4;" : "=l"(w) : "l"(u), "l"(u * 3), "r"(at & 71), "r"(n));
                out[i + {N}] = v ^ w;
            asm("bfind.u32 %0, %1;" : "=r"(c) : "r"(a >> (b & 31))); asm("bfind.s32 %0, %1;" : "=r"(d) : "r"(b));
            asm("bfind.shiftamt.u64 %0, %1;" : "=r"(e) : "l"(u >> (b & 63)));
            out[i + 2 * {N}] = c ^ d << 8 ^ e << 16 ^ (u64_t)__byte_perm(a, b, in[i / 7]) << 32;
            short s = -(short)a; out[i + 3 * {N}] = (unsigned short)s; }}""".replace("u64_t", "unsigned long long"),
        [Bytes(32 * N), BITS],
    ),
    "atomics that return something or add floats, and fences": (
        f"""__global__ void k(unsigned* out, const unsigned* in) {{ {WHERE} __shared__ unsigned taken; __shared__
                float sums[4];
            int t = threadIdx.x; if (t < 4) sums[t] = 0; if (!t) taken = 0; __syncthreads(); unsigned place =
                atomicAdd(&taken, 1u);
            atomicAdd(&sums[t & 3], __uint_as_float(in[i] & 0x3FFFFFFF)); __threadfence(); __syncthreads();
            out[i] = taken ^ __float_as_uint(sums[t & 3]); unsigned* rest = out + 3 * {N}; atomicAdd((float*)rest +
                (i & 7),
                (float)(in[i] & 255)); atomicAdd((double*)(rest + 8) + (i & 3), in[i] * 0.5);
            out[{N} + i] = place ^ atomicInc(rest + 64 + i / 16, 5) ^ atomicDec(rest + 4096 + i / 8, 3) << 8;
            out[2 * {N} + i] = atomicCAS(rest + 16384 + i / 2, 0, in[i]) ^ atomicMin((int*)out + 2 * {N} + i, -5)
                ^ (unsigned)atomicExch((unsigned long long*)(rest + {N}) + i / 3, i * 3ull << 33); }}""",
        [np.zeros(8 * N, np.uint32), BITS],
    ),
    "atomics whose turn does not matter": (
        f"""__global__ void k(unsigned* out, const unsigned* in) {{ __shared__ unsigned h[64]; {WHERE}
            int t = threadIdx.x; if (t < 64) h[t] = 0; __syncthreads();
            for (int a = 0; a < 4; a++) atomicAdd(&h[in[i] >> 8 * a & 63], a + 1);
            __syncthreads(); if (t < 64) atomicAdd(out + t, h[t]);
            atomicMax((int*)out + 64, (int)in[i]); atomicMin(out + 65, in[i]); atomicXor(out + 66, in[i]);
            atomicMax(out + 67, in[i]); atomicAnd(out + 68, in[i] | 7); atomicOr(out + 69, 1 << (i & 15));
            atomicAdd((unsigned long long*)out + 40 + i % 3, (unsigned long long)in[i]); }}""",
        [np.arange(100, dtype=np.uint32), BITS],
    ),
    "shuffles and votes of whole warps": (
        f"""__global__ void k(unsigned* out, const unsigned* in) {{ __shared__ unsigned s[8]; {WHERE}
            int t = threadIdx.x; unsigned v = in[i], w = 0;
            for (int d = 16; d > 0; d >>= 1) v += __shfl_down_sync(~0u, v, d);
            w = __shfl_sync(~0u, v, 5) ^ __shfl_xor_sync(~0u, in[i], 3, 8) ^ __shfl_up_sync(~0u, in[i], 2, 16);
            w += __ballot_sync(~0u, in[i] & 1) + __all_sync(~0u, in[i] > 9) + 2 * __any_sync(~0u, in[i] < 1u << 27);
            if (t % 32 == 0) s[t / 32] = v; __syncthreads();
            if (t < 32) {{ v = t < 8 ? s[t] : 0; for (int d = 4; d; d /= 2) v += __shfl_down_sync(~0u, v, d);
                __syncwarp(); if (t == 0) s[0] = v; }}
            __syncthreads(); out[i] = w + s[0]; }}""",
        [Bytes(4 * N), BITS],
    ),
    "coordinates that are asked for late": (
        f"""__global__ void k(unsigned* out, const unsigned* in, unsigned n) {{ __shared__ unsigned s; {WHERE}
            if (threadIdx.x == 0) s = 0; __syncthreads(); if (i < n) atomicAdd(&s, 1u + in[i] % blockDim.x);
            __syncthreads(); out[i] = s + gridDim.x * threadIdx.x + in[i % n]; }}""",
        [Bytes(4 * N), BITS, np.uint32(N - 100)],
    ),
    "several places from one pointer, into one array and another": (
        f"""__global__ void k(float* out, const float* a, const float* b) {{ __shared__ float s[1024]; {WHERE}
            int t = threadIdx.x; const float* p = (i / 3 % 2 ? a : b) + min(i, {N} - 8);
            float* q = s + 4 * t; q[0] = p[0] + p[2]; if (t % 5) q[1] = p[7]; q[2] = p[1] - p[3]; q[3] = p[4];
            __syncthreads(); const float* r = s + 4 * (255 - t); float v = r[0] * r[2] + r[3];
            if ((255 - t) % 5) v = v * r[0] + r[1] * r[2] - r[3]; out[4 * i] = v; out[4 * i + 2] = v + 1;
            double2* d = (double2*)(out + 4 * {N}) + i; *d = make_double2(v, p[5]); }}""",
        [Bytes(32 * N), FLOATS, FLOATS[::-1].copy()],
    ),
    "copies to shared memory that go on by themselves": (
        f"""__global__ void k(int* out, const int4* in) {{ __shared__ __align__(16) int s[2][1024]; {WHERE}
            int t = threadIdx.x, v = 0; unsigned to = __cvta_generic_to_shared(&s[0][4 * t]);
            asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" :: "r"(to), "l"(in + i / 4));
            asm volatile("cp.async.commit_group;");
            for (int k = 0; k < 4; k++) {{ unsigned next = __cvta_generic_to_shared(&s[~k & 1][4 * t]);
                asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" :: "r"(next), "l"(in + (i + k) / 4 % {N // 4}));
                asm volatile("cp.async.ca.shared.global [%0], [%1+4], 4;" :: "r"(next + 8), "l"(in + i / 8));
                asm volatile("cp.async.commit_group;"); asm volatile("cp.async.wait_group 1;"); __syncthreads();
                v = v * 5 + s[k & 1][4 * ((t + k) & 255)] + s[k & 1][4 * (255 - t) + 2]; __syncthreads(); }}
            asm volatile("cp.async.wait_all;"); out[i] = v; }}""",
        [Bytes(4 * N), BITS],
    ),
    "an assertion that holds, and what the first thread prints": (
        f"""extern "C" __device__ void __assertfail(const char*, const char*, unsigned, const char*, size_t);
        __global__ void k(int* out, const unsigned* in, int n) {{ {WHERE}
            if (n != blockDim.x) __assertfail("n", "a.cu", 3, "k", 1); if (i == 0) printf("n = %d\\n", n);
            int s = 0; for (int a = 0; a < 9; a++) {{ s += in[i] >> a;
                if (s == 77777777) printf("%d\\n", s); s *= 3; }} out[i] = s; }}""",
        [Bytes(4 * N), BITS, np.int32(256)],
    ),
    "arrays of a thread's own": (
        f"""__global__ void k(int* out, const unsigned* in) {{ {WHERE} int h[8]; for (int a = 0; a < 8; a++) h[a] = a;
            for (int a = 0; a < 20; a++) h[(in[i] >> a) & 7] += a; int s = 0; for (int a = 0; a < 8;
                a++) s = s * 31 + h[a];
            out[i] = s; }}""",
        [Bytes(4 * N), BITS],
    ),
    "three dimensions and a variable of the module": (
        """__constant__ float weights[3] = {0.5f, 0.25f, 2.f}; __device__ int count[3];
        __global__ void k(float* out, const float* in) {
            int i = ((blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x) * 256
                + (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
            out[i] = in[i] * weights[threadIdx.y % 3] + count[blockIdx.z % 3]; }""",
        [Bytes(4 * N), FLOATS],
    ),
}
