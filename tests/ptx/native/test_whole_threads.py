"""Blocks that nobody watches, thread by thread: memory and counts as where the interpreter runs them."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from grader.ptx.launch import Launch, launch
from grader.ptx.limits import LimitExceeded, Limits
from grader.ptx.memory import Device
from grader.ptx.native import thread_runner
from grader.ptx.records import LaunchReport
from tests.ptx.running import Bytes, compiled

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


def run(source: str, arguments: list[Any], apart: bool, grid: Any, block: Any, **more: Any) -> tuple[Any, ...]:
    module = compiled(source)
    # What an earlier launch of the kernel has shown.
    module.derived.pop("wanted threads", None)
    device = Device()
    passed = [
        device.buffer(f"arg{k}", int(a) if isinstance(a, Bytes) else a) if isinstance(a, np.ndarray | Bytes) else a
        for k, a in enumerate(arguments)
    ]
    options = {"observe": True, "observed_batches": 1, **more}
    report: LaunchReport = launch(
        module, Launch(module.entries()[0], grid, block, passed, device=device, unwatched_apart=apart, **options)
    )
    arrays = [array for array in device.arrays if array is not None]
    written = [array.valid.tobytes() for array in arrays if array.valid is not None]
    known = module.derived.get("wanted threads", {})
    done = any(wanted.instructions and not wanted.refused for wanted in known.values())
    return done, report, [array.data.tobytes() for array in arrays], written


@pytest.fixture(autouse=True, params=["one", "fours", "fours shared"])
def at_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks are carried out whatever that is worth: each thread by itself, by fours, by fours on two cores."""
    monkeypatch.setattr(thread_runner, "BY_FOURS_FROM", 1 << 60 if request.param == "one" else 0)
    if "shared" in request.param:
        monkeypatch.setattr(thread_runner, "SHARED_FROM", 0)
    monkeypatch.setattr(thread_runner, "COMPILATION", 0)
    monkeypatch.setattr(thread_runner, "LAUNCH", 0)
    monkeypatch.setattr(thread_runner, "COPIED", 1 << 30)


@pytest.mark.parametrize("name", KERNELS)
def test_memory_and_counts(name: str) -> None:
    source, arguments = KERNELS[name]
    shape = ((10, 4, 4), (16, 8, 2)) if "dimensions" in name else ((N // 256,), (256,))
    _, expected, memory, written = run(source, arguments, False, *shape)
    done, got, same_memory, same_written = run(source, arguments, True, *shape)
    assert done
    assert same_memory == memory
    assert same_written == written
    assert got.thread_instructions == expected.thread_instructions
    assert got.opcode_counts == expected.opcode_counts


@pytest.mark.parametrize(
    "body",
    [
        """unsigned old = 0, seen; do { seen = old; if (seen >= in[i]) break;
            old = atomicCAS(out + i % 5, seen, in[i]); } while (old != seen);""",
        """for (bool done = threadIdx.x; !done;) if (atomicCAS(out + 5, 0, 1) == 0) { out[i % 5] += in[i];
            __threadfence(); done = true; atomicExch(out + 5, 0); }""",
    ],
)
def test_updates_that_are_tried_until_they_succeed(body: str) -> None:
    source = f"__global__ void k(unsigned* out, const unsigned* in) {{ {WHERE} {body} }}"
    arguments = [np.zeros(8, np.uint32), BITS]
    _, _, memory, _ = run(source, arguments, False, (N // 256,), (256,))
    done, _, same_memory, _ = run(source, arguments, True, (N // 256,), (256,))
    assert done
    assert same_memory == memory


LAST = "blockIdx.x == gridDim.x - 1"


@pytest.mark.parametrize(
    ("body", "hazard"),
    [
        ("out[i + 64 * (blockIdx.x > 80)] = i;", "out_of_bounds"),
        ("__shared__ int s[256]; if (blockIdx.x < 80) s[threadIdx.x] = i; out[i] = s[threadIdx.x];", "uninitialized"),
        (
            f"int* p = out + (blockIdx.x < 80 ? 2 * i : i); if (blockIdx.x < 80 || i == {N - 1}) p[0] = p[1] = i;",
            "out_of_bounds",
        ),
        (
            "__shared__ int s[256]; int* p = s + threadIdx.x / 4 * 4, t = threadIdx.x % 4;"
            " if (t != 2 || blockIdx.x < 80) s[threadIdx.x] = i; __syncthreads(); out[i] = p[0] + p[1] + p[2] + p[3];",
            "uninitialized",
        ),
        ("if (blockIdx.x < 80 || threadIdx.x < 100) __syncthreads(); else __syncthreads(); out[i] = i;", ""),
    ],
)
def test_what_is_wrong_in_a_block_that_nobody_watches_is_told_as_ever(body: str, hazard: str) -> None:
    source = f"__global__ void k(int* out) {{ {WHERE} {body} }}"
    arguments = [Bytes(4 * N)]
    _, expected, memory, _ = run(source, arguments, False, (N // 256,), (256,))
    _, got, same_memory, _ = run(source, arguments, True, (N // 256,), (256,))
    assert [h.kind for h in got.hazards] == [h.kind for h in expected.hazards]
    assert not hazard or hazard in {h.kind for h in got.hazards}
    assert same_memory == memory
    # The attempt was in vain, and is charged nothing.
    assert (got.charged, got.thread_instructions) == (expected.charged, expected.thread_instructions)


def test_who_prints_in_a_block_that_nobody_watches_is_heard() -> None:
    source = f'__global__ void k(int* out, int n) {{ {WHERE} out[i] = i; if (i >= n) printf("%d ", i); }}'
    done, report, _, _ = run(source, [Bytes(4 * N), np.int32(N - 3)], True, (N // 256,), (256,))
    assert not done
    assert report.printf == "".join(f"{i} " for i in range(N - 3, N))


def test_a_race_that_was_seen_leaves_the_order_as_it_is() -> None:
    source = f"__global__ void k(int* out, const unsigned* in) {{ {WHERE} out[i / 2] += in[i]; out[i / 3] = i; }}"
    _, _, memory, _ = run(source, [np.zeros(N, np.int32), BITS], False, (N // 256,), (256,))
    done, got, same_memory, _ = run(source, [np.zeros(N, np.int32), BITS], True, (N // 256,), (256,))
    assert not done
    assert got.hazards
    assert same_memory == memory


def test_limits_hold() -> None:
    loop = "for (int a = 0; a < n; a++) s = s * 5 + (s >> a % 7);"
    source = f"__global__ void k(int* out, int n) {{ {WHERE} int s = i; {loop} out[i] = s; }}"
    with pytest.raises(LimitExceeded) as raised:
        run(source, [Bytes(4 * N), np.int32(3000)], True, (N // 256,), (256,), limits=Limits(instructions=200_000_000))
    assert raised.value.kind == "instructions"
    assert raised.value.line == 1


@pytest.mark.parametrize(
    "functions",
    [
        "__device__ __noinline__ unsigned f(unsigned v) { return v & 7 ? f(v - 1) * 3 + v : 1; }",
        "__device__ __noinline__ unsigned f(unsigned v) {"
        + "v = v * 5 + (v >> 3); v ^= v << 7;" * 1000
        + "return v; }\n#define f(v) (f(v) + f(v + 1) + f(v + 2))",
    ],
    ids=["recursive", "too long together"],
)
def test_calls_that_nothing_can_be_put_in_the_place_of_stay_with_the_interpreter(functions: str) -> None:
    source = f"{functions}\n__global__ void k(unsigned* out, const unsigned* in) {{ {WHERE} out[i] = f(in[i] & 63); }}"
    _, _, expected, _ = run(source, [Bytes(4 * N), BITS], False, (N // 256,), (256,))
    done, _, memory, _ = run(source, [Bytes(4 * N), BITS], True, (N // 256,), (256,))
    assert not done
    assert memory == expected


def test_loops_that_are_carried_out_at_once_stay_with_the_interpreter() -> None:
    source = """__global__ void k(float* out, const float* a, const float* b, int n) { float v = 0;
        int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
        for (int m = 0; m < n; m++) v += a[y * n + m] * b[m * n + x]; out[y * n + x] = v; }"""
    arguments = [Bytes(4 * N), FLOATS, FLOATS, np.int32(192)]
    done, report, _, _ = run(source, arguments, True, (12, 12), (16, 16))
    assert not done
    assert report.charged * 8 < report.thread_instructions


def test_of_a_long_kernel_whose_blocks_run_side_by_side_a_few_are_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["grader.ptx.launch"], "CAUTION", 3_000_000)
    source = f"""__global__ void k(int* out, const unsigned* in) {{ {WHERE} int s = out[i];
        for (int a = 0; a < 300; a++) s = s * 3 + (in[(i + a) % 4096] >> (s & 7)); out[i] = s; }}"""
    arguments = [np.arange(4096, dtype=np.int32), BITS[:4096]]
    _, expected, memory, _ = run(source, arguments, False, (16,), (256,), observed_batches=None)
    done, got, same_memory, _ = run(source, arguments, True, (16,), (256,), observed_batches=None)
    assert done
    assert same_memory == memory
    assert got.thread_instructions == expected.thread_instructions
    assert (got.counters.sampled_blocks, got.counters.total_blocks) == (2, 16)


def test_what_a_first_attempt_stored_where_a_pointer_in_memory_leads_is_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["grader.ptx.launch"], "CAUTION", 3_000_000)
    source = f"""__global__ void k(int** table, const unsigned* in) {{ {WHERE} table[0][i] += 1; int s = i;
        for (int a = 0; a < 300; a++) s = s * 3 + (in[(i + a) % 4096] >> (s & 7)); table[0][i] += s & 4096; }}"""
    device, module = Device(), compiled(source)
    counts = device.buffer("counts", np.zeros(4096, np.int32))
    table = device.buffer("table", np.array([counts.address], np.uint64))
    into = device.buffer("in", BITS[:4096])
    options: dict[str, Any] = {"observe": True, "unwatched_apart": True}
    launch(module, Launch(module.entries()[0], (16,), (256,), [table, into], **options))
    assert set(counts.read(np.int32).tolist()) == {1, 4097}


def test_arrays_stay_where_they_live_from_launch_to_launch() -> None:
    body = "out[i] += in[i] * 3 + i; if (i == bad) out[n] = 1;"
    source = f"__global__ void k(int* out, const int* in, int n, int bad) {{ {WHERE} {body} }}"

    def contents(apart: bool) -> list[bytes]:
        module = compiled(source)
        module.derived.pop("wanted threads", None)
        device = Device()
        arrays = [device.buffer(f"a{k}", (BITS[: N + k] + k).view(np.int32)) for k in range(4)]
        seen = []

        def go(out: int, into: int, bad: int = -1) -> None:
            arguments: list[Any] = [arrays[out], arrays[into], np.int32(1 << 20), np.int32(bad)]
            options: dict[str, Any] = {"observe": True, "observed_batches": 1, "unwatched_apart": apart}
            launch(module, Launch(module.entries()[0], (N // 256,), (256,), arguments, **options))
            seen.append(b"".join(array.read(np.uint8).tobytes() for array in arrays))

        for out, into in ((0, 1), (1, 0), (2, 1)):
            go(out, into)
        # The host writes to one; another goes, and one of the same size comes in its place.
        arrays[1].write(np.arange(N, dtype=np.int32))
        device.arrays[device.arrays.index(arrays[0].memory)] = None
        arrays[0] = device.buffer("new", np.zeros(N, np.int32))
        go(0, 1)
        go(2, 0)
        residence = device.residence
        assert (residence is not None) == apart
        assert not apart or all(residence.has(arrays[k].memory) for k in range(3))
        assert not apart or not residence.has(arrays[3].memory)
        # An attempt that is given up leaves nothing.
        go(2, 1, bad=N - 1)
        go(2, 3)
        return seen

    assert contents(True) == contents(False)


def test_room_of_arrays_that_are_gone_is_used_again() -> None:
    source = f"__global__ void k(int* out, const int* in) {{ {WHERE} out[i] = in[i] + 1; }}"
    module = compiled(source)
    device, sizes = Device(), []
    for times in (1, 2, 3, 5):
        arrays = [device.buffer(name, np.zeros(N * times, np.int32)) for name in ("out", "in")]
        options: dict[str, Any] = {"observe": True, "observed_batches": 1, "unwatched_apart": True}
        launch(module, Launch(module.entries()[0], (N // 256,), (256,), arrays, **options))
        assert (arrays[0].read(np.int32)[:N] == 1).all()
        assert all(device.residence.has(array.memory) for array in arrays)
        sizes.append(device.residence.end)
        device.arrays[1:] = [None] * (len(device.arrays) - 1)
    # What both have on top of what they had before, and nothing of what is gone.
    assert [size - sizes[0] for size in sizes] == [8 * N * more for more in (0, 1, 2, 4)]


def test_of_a_long_launch_of_few_threads_the_first_part_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["grader.ptx.launch"], "FIRST_PART", 2000)
    body = "for (int a = 0; a < n; a++) s = s * 3 + (in[(i + a) % 4096] >> (s & 7)); atomicAdd(out + i % 4, s);"
    source = f"__global__ void k(int* out, const unsigned* in, int n) {{ {WHERE} int s = i; {body} out[i + 4] += s; }}"
    for rounds, watched in ((10, 2), (900, 0)):
        arguments = [np.arange(4096, dtype=np.int32), BITS[:4096], np.int32(rounds)]
        _, expected, memory, written = run(source, arguments, False, (2,), (64,), observed_batches=None)
        _, got, same_memory, same_written = run(source, arguments, True, (2,), (64,), observed_batches=None)
        assert (same_memory, same_written) == (memory, written)
        assert (got.thread_instructions, got.opcode_counts) == (expected.thread_instructions, expected.opcode_counts)
        assert (got.counters.sampled_blocks, got.counters.total_blocks) == (watched, 2)


@pytest.mark.parametrize("end", ["out[i / 2] = s;", "if (s != 5) out[n * 999] = s;"])
def test_what_goes_wrong_before_the_first_part_is_over_is_told_of_few_threads(
    end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["grader.ptx.launch"], "FIRST_PART", 2000)
    loop = "for (int a = 0; a < n; a++) s = s * 3 + (in[(i + a) % 4096] >> (s & 7));"
    source = f"""__global__ void k(int* out, const unsigned* in, int n) {{ {WHERE}
        int s = i; {loop} atomicAdd(out + 99, s); {end} n *= 20; {loop} out[i + 128] = s; }}"""
    arguments = [np.arange(4096, dtype=np.int32), BITS[:4096], np.int32(60)]
    _, expected, memory, _ = run(source, arguments, False, (2,), (64,), observed_batches=None)
    _, got, same_memory, _ = run(source, arguments, True, (2,), (64,), observed_batches=None)
    assert expected.hazards
    assert got.hazards == expected.hazards
    assert same_memory == memory


def test_one_thread_that_takes_long_is_watched_in_its_first_part(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("launch", "native.engine"):
        monkeypatch.setattr(sys.modules[f"grader.ptx.{module}"], "CAUTION" if module == "launch" else "SLICE", 100_000)
    source = """__global__ void k(int* out, const unsigned* in, int n) { int s = 1;
        for (int a = 0; a < n; a++) { s = s * 3 + (in[a % 4096] >> (s & 7)); out[a % 64] ^= s; } }"""
    for rounds, watched in ((2000, 1), (30_000, 0)):
        arguments = [np.arange(64, dtype=np.int32), BITS[:4096], np.int32(rounds)]
        _, expected, memory, written = run(source, arguments, False, (1,), (1,), observed_batches=None)
        _, got, same_memory, same_written = run(source, arguments, True, (1,), (1,), observed_batches=None)
        assert (same_memory, same_written) == (memory, written)
        assert (got.thread_instructions, got.opcode_counts) == (expected.thread_instructions, expected.opcode_counts)
        assert got.counters.sampled_blocks == watched
