// Device code for clang: what nvcc knows without a header.  Read where NVRTC cannot give a kernel, by both halves.
#pragma once
#include "grader_cuda_types.h"
#include <stddef.h>
#include <time.h>
#define GRADER_DEVICE __device__ static inline __attribute__((always_inline, nodebug))
#define GRADER_TOGETHER __device__ static inline __attribute__((always_inline, convergent, nodebug))
#undef __launch_bounds__
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#ifdef __CUDA_ARCH__
#undef __managed__
#define __managed__ __device__
#endif

// -- where a thread is ------------------------------------------------------------------------
#define GRADER_INDEX_(member, builtin) \
    __declspec(property(get = get_##member)) unsigned member; \
    __device__ static inline __attribute__((always_inline, nodebug)) unsigned get_##member() { return builtin(); }
#define GRADER_INDICES_(name, of) \
    struct grader_##name { \
        GRADER_INDEX_(x, __nvvm_read_ptx_sreg_##of##_x) \
        GRADER_INDEX_(y, __nvvm_read_ptx_sreg_##of##_y) \
        GRADER_INDEX_(z, __nvvm_read_ptx_sreg_##of##_z) \
        __device__ operator dim3() const { return dim3(x, y, z); } \
        __device__ operator uint3() const { return uint3{x, y, z}; } \
        grader_##name() = default; \
        grader_##name(const grader_##name &) = delete; \
        void operator=(const grader_##name &) const = delete; \
    }; \
    extern const __device__ __attribute__((weak)) grader_##name name;
GRADER_INDICES_(threadIdx, tid)
GRADER_INDICES_(blockIdx, ctaid)
GRADER_INDICES_(blockDim, ntid)
GRADER_INDICES_(gridDim, nctaid)
static const int warpSize = 32;

// -- what C and C++ have ------------------------------------------------------------------------
extern "C" {
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes = 0, void *stream = 0);
__device__ int vprintf(const char *, const char *);
__device__ int printf(const char *, ...);
__device__ void *malloc(size_t);
// What the compiler makes of a launch out of a kernel.
__device__ void *cudaGetParameterBuffer(size_t alignment, size_t size);
__device__ cudaError_t cudaLaunchDevice(void *kernel, void *arguments, dim3 grid, dim3 block, unsigned shared_bytes, cudaStream_t stream);
__device__ void free(void *);
__device__ __attribute__((noreturn)) void __assertfail(const char *, const char *, unsigned, const char *, size_t);
__device__ static inline __attribute__((nodebug)) void __assert_fail(const char *text, const char *file, int line, const char *function) { __assertfail(text, file, line, function, 1); }
__device__ static inline void abort() { __nvvm_exit(); __builtin_unreachable(); }
__device__ cudaError_t __cudaCDP2GetLastError();
__device__ cudaError_t __cudaCDP2PeekAtLastError();
__device__ cudaError_t __cudaCDP2StreamCreateWithFlags(cudaStream_t *, unsigned);
__device__ cudaError_t __cudaCDP2StreamDestroy(cudaStream_t);
__device__ cudaError_t __cudaCDP2Malloc(void **, size_t);
__device__ cudaError_t __cudaCDP2Free(void *);
GRADER_DEVICE void *memcpy(void *to, const void *from, size_t n) { return __builtin_memcpy(to, from, n); }
GRADER_DEVICE void *memmove(void *to, const void *from, size_t n) { return __builtin_memmove(to, from, n); }
GRADER_DEVICE void *memset(void *to, int value, size_t n) { return __builtin_memset(to, value, n); }
}
// The runtime's, as kernels have them.
__device__ inline cudaError_t cudaGetLastError() { return __cudaCDP2GetLastError(); }
__device__ inline cudaError_t cudaPeekAtLastError() { return __cudaCDP2PeekAtLastError(); }
__device__ inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned flags) { return __cudaCDP2StreamCreateWithFlags(s, flags); }
__device__ inline cudaError_t cudaStreamDestroy(cudaStream_t s) { return __cudaCDP2StreamDestroy(s); }
#ifndef CCCL_DISABLE_NVTX
// Thrust hands on the host's by their names, which may then mean no other.
template <class T> __device__ inline cudaError_t cudaMalloc(T **p, size_t n) { return __cudaCDP2Malloc((void **)p, n); }
__device__ inline cudaError_t cudaFree(void *p) { return __cudaCDP2Free(p); }
#endif
__device__ inline void *operator new(size_t, void *p) noexcept { return p; }
__device__ inline void *operator new[](size_t, void *p) noexcept { return p; }
__device__ inline void operator delete(void *, void *) noexcept {}
__device__ inline void operator delete[](void *, void *) noexcept {}
__device__ inline void *operator new(size_t n) { return malloc(n); }
__device__ inline void *operator new[](size_t n) { return malloc(n); }
__device__ inline void operator delete(void *p) noexcept { free(p); }
__device__ inline void operator delete[](void *p) noexcept { free(p); }
__device__ inline void operator delete(void *p, size_t) noexcept { free(p); }
__device__ inline void operator delete[](void *p, size_t) noexcept { free(p); }

// -- barriers, fences, clocks ------------------------------------------------------------------
GRADER_TOGETHER int __syncthreads_count(int p) { return __nvvm_bar0_popc(p); }
GRADER_TOGETHER int __syncthreads_and(int p) { return __nvvm_bar0_and(p); }
GRADER_TOGETHER int __syncthreads_or(int p) { return __nvvm_bar0_or(p); }
GRADER_TOGETHER void __syncwarp(unsigned mask = 0xffffffffu) { __nvvm_bar_warp_sync(mask); }
GRADER_TOGETHER void __barrier_sync(unsigned id) { __nvvm_barrier_sync(id); }
GRADER_TOGETHER void __barrier_sync_count(unsigned id, unsigned n) { __nvvm_barrier_sync_cnt(id, n); }
GRADER_DEVICE void __threadfence() { __nvvm_membar_gl(); }
GRADER_DEVICE void __threadfence_block() { __nvvm_membar_cta(); }
GRADER_DEVICE void __threadfence_system() { __nvvm_membar_sys(); }
GRADER_DEVICE long long clock64() { return __nvvm_read_ptx_sreg_clock64(); }
GRADER_DEVICE clock_t clock() { return (clock_t)__nvvm_read_ptx_sreg_clock(); }
GRADER_DEVICE unsigned long long globaltimer() { unsigned long long t; asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)); return t; }
GRADER_DEVICE void __nanosleep(unsigned ns) { __nvvm_nanosleep(ns); }
GRADER_DEVICE void __trap() { asm volatile("trap;"); }
GRADER_DEVICE void __brkpt() { asm volatile("brkpt;"); }
GRADER_DEVICE void __prof_trigger(int) {}

// -- within a warp -------------------------------------------------------------------------------
GRADER_TOGETHER unsigned __activemask() { return __nvvm_activemask(); }
GRADER_TOGETHER int __all_sync(unsigned mask, int p) { return __nvvm_vote_all_sync(mask, p); }
GRADER_TOGETHER int __any_sync(unsigned mask, int p) { return __nvvm_vote_any_sync(mask, p); }
GRADER_TOGETHER int __uni_sync(unsigned mask, int p) { return __nvvm_vote_uni_sync(mask, p); }
GRADER_TOGETHER unsigned __ballot_sync(unsigned mask, int p) { return __nvvm_vote_ballot_sync(mask, p); }
GRADER_DEVICE unsigned __fns(unsigned mask, unsigned base, int offset) { return __nvvm_fns(mask, base, offset); }
#define GRADER_SHUFFLE_(name, builtin, U, low) \
    GRADER_TOGETHER int name(unsigned mask, int v, U at, int width = 32) { return builtin##i32(mask, v, at, ((32 - width) << 8) | low); } \
    GRADER_TOGETHER unsigned name(unsigned mask, unsigned v, U at, int width = 32) { return (unsigned)name(mask, (int)v, at, width); } \
    GRADER_TOGETHER float name(unsigned mask, float v, U at, int width = 32) { return builtin##f32(mask, v, at, ((32 - width) << 8) | low); } \
    GRADER_TOGETHER unsigned long long name(unsigned mask, unsigned long long v, U at, int width = 32) { \
        unsigned a = name(mask, (unsigned)v, at, width), b = name(mask, (unsigned)(v >> 32), at, width); \
        return (unsigned long long)b << 32 | a; \
    } \
    GRADER_TOGETHER long long name(unsigned mask, long long v, U at, int width = 32) { return (long long)name(mask, (unsigned long long)v, at, width); } \
    GRADER_TOGETHER unsigned long name(unsigned mask, unsigned long v, U at, int width = 32) { return name(mask, (unsigned long long)v, at, width); } \
    GRADER_TOGETHER long name(unsigned mask, long v, U at, int width = 32) { return (long)name(mask, (unsigned long long)v, at, width); } \
    GRADER_TOGETHER double name(unsigned mask, double v, U at, int width = 32) { \
        return __builtin_bit_cast(double, name(mask, __builtin_bit_cast(unsigned long long, v), at, width)); \
    }
GRADER_SHUFFLE_(__shfl_sync, __nvvm_shfl_sync_idx_, int, 0x1f)
GRADER_SHUFFLE_(__shfl_up_sync, __nvvm_shfl_sync_up_, unsigned, 0)
GRADER_SHUFFLE_(__shfl_down_sync, __nvvm_shfl_sync_down_, unsigned, 0x1f)
GRADER_SHUFFLE_(__shfl_xor_sync, __nvvm_shfl_sync_bfly_, int, 0x1f)
#define GRADER_MATCH_(T, U, bits) \
    GRADER_TOGETHER unsigned __match_any_sync(unsigned mask, T v) { return __nvvm_match_any_sync_i##bits(mask, __builtin_bit_cast(U, v)); } \
    GRADER_TOGETHER unsigned __match_all_sync(unsigned mask, T v, int *p) { return __nvvm_match_all_sync_i##bits##p(mask, __builtin_bit_cast(U, v), p); }
GRADER_MATCH_(int, int, 32)
GRADER_MATCH_(unsigned, int, 32)
GRADER_MATCH_(float, int, 32)
GRADER_MATCH_(long, long long, 64)
GRADER_MATCH_(unsigned long, long long, 64)
GRADER_MATCH_(long long, long long, 64)
GRADER_MATCH_(unsigned long long, long long, 64)
GRADER_MATCH_(double, long long, 64)
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define GRADER_REDUCE_(T, name) GRADER_TOGETHER T __reduce_##name##_sync(unsigned mask, T v)
#define GRADER_REDUCED_(T, op, letter, C) { T r; asm volatile("redux.sync." op " %0, %1, %2;" : "=r"(r) : "r"(v), "r"(mask)); return r; }
GRADER_REDUCE_(int, add) GRADER_REDUCED_(int, "add.s32", , )
GRADER_REDUCE_(unsigned, add) GRADER_REDUCED_(unsigned, "add.u32", , )
GRADER_REDUCE_(int, min) GRADER_REDUCED_(int, "min.s32", , )
GRADER_REDUCE_(unsigned, min) GRADER_REDUCED_(unsigned, "min.u32", , )
GRADER_REDUCE_(int, max) GRADER_REDUCED_(int, "max.s32", , )
GRADER_REDUCE_(unsigned, max) GRADER_REDUCED_(unsigned, "max.u32", , )
GRADER_REDUCE_(unsigned, and) GRADER_REDUCED_(unsigned, "and.b32", , )
GRADER_REDUCE_(unsigned, or) GRADER_REDUCED_(unsigned, "or.b32", , )
GRADER_REDUCE_(unsigned, xor) GRADER_REDUCED_(unsigned, "xor.b32", , )
#endif

// -- atomics ---------------------------------------------------------------------------------------
// C++'s own operations at the widest scope would bring fences along; these are the instructions as nvcc gives them.
#define GRADER_ATOMIC_(name, T, U, builtin) \
    GRADER_DEVICE T name(T *p, T v) { return (T)builtin((U *)p, (U)v); } \
    GRADER_DEVICE T name##_block(T *p, T v) { return (T)builtin((U *)p, (U)v); } \
    GRADER_DEVICE T name##_system(T *p, T v) { return (T)builtin((U *)p, (U)v); }
GRADER_ATOMIC_(atomicAdd, int, int, __nvvm_atom_add_gen_i)
GRADER_ATOMIC_(atomicAdd, unsigned, int, __nvvm_atom_add_gen_i)
GRADER_ATOMIC_(atomicAdd, unsigned long long, long long, __nvvm_atom_add_gen_ll)
GRADER_ATOMIC_(atomicAdd, float, float, __nvvm_atom_add_gen_f)
GRADER_ATOMIC_(atomicAdd, double, double, __nvvm_atom_add_gen_d)
#define GRADER_SUB_(T) \
    GRADER_DEVICE T atomicSub(T *p, T v) { return atomicAdd(p, (T)(0 - v)); } \
    GRADER_DEVICE T atomicSub_block(T *p, T v) { return atomicAdd(p, (T)(0 - v)); } \
    GRADER_DEVICE T atomicSub_system(T *p, T v) { return atomicAdd(p, (T)(0 - v)); }
GRADER_SUB_(int)
GRADER_SUB_(unsigned)
GRADER_ATOMIC_(atomicMin, int, int, __nvvm_atom_min_gen_i)
GRADER_ATOMIC_(atomicMin, unsigned, unsigned, __nvvm_atom_min_gen_ui)
GRADER_ATOMIC_(atomicMin, long long, long long, __nvvm_atom_min_gen_ll)
GRADER_ATOMIC_(atomicMin, unsigned long long, unsigned long long, __nvvm_atom_min_gen_ull)
GRADER_ATOMIC_(atomicMax, int, int, __nvvm_atom_max_gen_i)
GRADER_ATOMIC_(atomicMax, unsigned, unsigned, __nvvm_atom_max_gen_ui)
GRADER_ATOMIC_(atomicMax, long long, long long, __nvvm_atom_max_gen_ll)
GRADER_ATOMIC_(atomicMax, unsigned long long, unsigned long long, __nvvm_atom_max_gen_ull)
GRADER_ATOMIC_(atomicInc, unsigned, unsigned, __nvvm_atom_inc_gen_ui)
GRADER_ATOMIC_(atomicDec, unsigned, unsigned, __nvvm_atom_dec_gen_ui)
#define GRADER_BITS_(name, op) \
    GRADER_ATOMIC_(name, int, int, __nvvm_atom_##op##_gen_i) \
    GRADER_ATOMIC_(name, unsigned, int, __nvvm_atom_##op##_gen_i) \
    GRADER_ATOMIC_(name, long long, long long, __nvvm_atom_##op##_gen_ll) \
    GRADER_ATOMIC_(name, unsigned long long, long long, __nvvm_atom_##op##_gen_ll)
GRADER_BITS_(atomicAnd, and)
GRADER_BITS_(atomicOr, or)
GRADER_BITS_(atomicXor, xor)
GRADER_ATOMIC_(atomicExch, int, int, __nvvm_atom_xchg_gen_i)
GRADER_ATOMIC_(atomicExch, unsigned, int, __nvvm_atom_xchg_gen_i)
GRADER_ATOMIC_(atomicExch, unsigned long long, long long, __nvvm_atom_xchg_gen_ll)
GRADER_DEVICE float atomicExch(float *p, float v) { return __builtin_bit_cast(float, atomicExch((int *)p, __builtin_bit_cast(int, v))); }
#define GRADER_CAS_(T, type, letter) \
    GRADER_DEVICE T atomicCAS(T *p, T compare, T v) { T r; asm volatile("atom.cas." type " %0, [%1], %2, %3;" : "=" letter(r) : "l"(p), letter(compare), letter(v) : "memory"); return r; } \
    GRADER_DEVICE T atomicCAS_block(T *p, T compare, T v) { return atomicCAS(p, compare, v); } \
    GRADER_DEVICE T atomicCAS_system(T *p, T compare, T v) { return atomicCAS(p, compare, v); }
GRADER_CAS_(int, "b32", "r")
GRADER_CAS_(unsigned, "b32", "r")
GRADER_CAS_(unsigned long long, "b64", "l")
GRADER_CAS_(long long, "b64", "l")
GRADER_CAS_(unsigned short, "b16", "h")

// -- loads and stores with a hint --------------------------------------------------------------
// The hint changes where a value is cached, not what is read.
#define GRADER_HINTS_(T) \
    GRADER_DEVICE T __ldg(const T *p) { return *p; } \
    GRADER_DEVICE T __ldca(const T *p) { return *p; } \
    GRADER_DEVICE T __ldcs(const T *p) { return *p; } \
    GRADER_DEVICE T __ldcg(const T *p) { return *(const volatile T *)p; } \
    GRADER_DEVICE T __ldlu(const T *p) { return *p; } \
    GRADER_DEVICE T __ldcv(const T *p) { return *(const volatile T *)p; } \
    GRADER_DEVICE void __stwb(T *p, T v) { *p = v; } \
    GRADER_DEVICE void __stcg(T *p, T v) { *p = v; } \
    GRADER_DEVICE void __stcs(T *p, T v) { *p = v; } \
    GRADER_DEVICE void __stwt(T *p, T v) { *p = v; }
#define GRADER_HINTS_OF_VECTOR_(T) \
    GRADER_DEVICE T __ldg(const T *p) { return *p; } \
    GRADER_DEVICE T __ldca(const T *p) { return *p; } \
    GRADER_DEVICE T __ldcs(const T *p) { return *p; } \
    GRADER_DEVICE T __ldcg(const T *p) { return *p; } \
    GRADER_DEVICE void __stwb(T *p, T v) { *p = v; } \
    GRADER_DEVICE void __stcg(T *p, T v) { *p = v; } \
    GRADER_DEVICE void __stcs(T *p, T v) { *p = v; } \
    GRADER_DEVICE void __stwt(T *p, T v) { *p = v; }
GRADER_HINTS_(char) GRADER_HINTS_(signed char) GRADER_HINTS_(unsigned char) GRADER_HINTS_(short) GRADER_HINTS_(unsigned short)
GRADER_HINTS_(int) GRADER_HINTS_(unsigned) GRADER_HINTS_(long) GRADER_HINTS_(unsigned long) GRADER_HINTS_(long long)
GRADER_HINTS_(unsigned long long) GRADER_HINTS_(float) GRADER_HINTS_(double)
GRADER_HINTS_OF_VECTOR_(char2) GRADER_HINTS_OF_VECTOR_(char4) GRADER_HINTS_OF_VECTOR_(uchar2) GRADER_HINTS_OF_VECTOR_(uchar4)
GRADER_HINTS_OF_VECTOR_(short2) GRADER_HINTS_OF_VECTOR_(short4) GRADER_HINTS_OF_VECTOR_(ushort2) GRADER_HINTS_OF_VECTOR_(ushort4)
GRADER_HINTS_OF_VECTOR_(int2) GRADER_HINTS_OF_VECTOR_(int4) GRADER_HINTS_OF_VECTOR_(uint2) GRADER_HINTS_OF_VECTOR_(uint4)
GRADER_HINTS_OF_VECTOR_(longlong2) GRADER_HINTS_OF_VECTOR_(ulonglong2) GRADER_HINTS_OF_VECTOR_(float2)
GRADER_HINTS_OF_VECTOR_(float4) GRADER_HINTS_OF_VECTOR_(double2)
#define GRADER_SPACE_(name, space) \
    GRADER_DEVICE unsigned __is##name(const void *p) { return __nvvm_isspacep_##space(p); }
GRADER_SPACE_(Global, global)
GRADER_SPACE_(Shared, shared)
GRADER_SPACE_(Constant, const)
GRADER_SPACE_(Local, local)
#define GRADER_CONVERTED_(name, word) \
    GRADER_DEVICE size_t __cvta_generic_to_##name(const void *p) { size_t a; asm("cvta.to." word ".u64 %0, %1;" : "=l"(a) : "l"(p)); return a; } \
    GRADER_DEVICE void *__cvta_##name##_to_generic(size_t a) { void *p; asm("cvta." word ".u64 %0, %1;" : "=l"(p) : "l"(a)); return p; }
GRADER_CONVERTED_(global, "global")
GRADER_CONVERTED_(shared, "shared")
GRADER_CONVERTED_(constant, "const")
GRADER_CONVERTED_(local, "local")
#include "grader_device_math.h"
