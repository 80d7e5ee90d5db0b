// Fragments of tensor cores, for both halves of a program that clang compiles; its builtins carry out what CUDA C++
// Programming Guide, "Warp Matrix Functions", says.
#pragma once
#include <type_traits>
#include "cuda_fp16.h"
#include "cuda_bf16.h"
namespace nvcuda {
namespace wmma {
struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
struct col_major {};
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32 {};
}
// What a lane holds of a matrix: of half always 16 elements, each twice in the warp, of other types each once.
template <class Use, int m, int n, int k, class T> struct grader_held {
    static constexpr int value = std::is_same<T, __half>::value ? 16 : (std::is_same<Use, matrix_a>::value ? m : n) * k / 32;
};
template <int m, int n, int k, class T> struct grader_held<accumulator, m, n, k, T> {
    static constexpr int value = m * n / 32;
};
template <class T> struct grader_element { using type = T; };
template <> struct grader_element<precision::tf32> { using type = float; };
template <class Use, int m, int n, int k, class T, class Layout = void> struct __align__(8) fragment {
    using element_type = T;
    using storage_element_type = typename grader_element<T>::type;
    enum { num_elements = grader_held<Use, m, n, k, T>::value, num_storage_elements = num_elements };
    storage_element_type x[num_elements];
};
template <class Use, int m, int n, int k, class T, class Layout>
__device__ inline void fill_fragment(fragment<Use, m, n, k, T, Layout> &f, const typename grader_element<T>::type &value) {
    for (auto &element : f.x) element = value;
}
__device__ inline float __float_to_tf32(float value) {
    int bits = 0;
#ifdef __CUDA_ARCH__
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
#endif
    memcpy(&value, &bits, sizeof value);
    return value;
}
// Of matrices by rows 0, by columns 1.
template <class Layout> struct grader_by_columns {
    static constexpr int value = std::is_same<Layout, col_major>::value;
};
#ifdef __CUDA_ARCH__
#define GRADER_OPERAND(USE, M, N, K, T, LOAD)                                                                           \
    template <class L> __device__ inline void load_matrix_sync(fragment<USE, M, N, K, T, L> &f,                        \
            const typename grader_element<T>::type *p, unsigned pitch) {                                               \
        LOAD((int *)f.x, (const int *)p, pitch, grader_by_columns<L>::value);                                          \
    }
#define GRADER_ACCUMULATOR(M, N, K, T, WORD, LOAD, STORE)                                                               \
    __device__ inline void load_matrix_sync(fragment<accumulator, M, N, K, T> &f, const T *p, unsigned pitch, layout_t layout) { \
        if (layout == mem_row_major) LOAD((WORD *)f.x, (const WORD *)p, pitch, 0);                                     \
        else LOAD((WORD *)f.x, (const WORD *)p, pitch, 1);                                                             \
    }                                                                                                                   \
    __device__ inline void store_matrix_sync(T *p, const fragment<accumulator, M, N, K, T> &f, unsigned pitch, layout_t layout) { \
        if (layout == mem_row_major) STORE((WORD *)p, (const WORD *)f.x, pitch, 0);                                    \
        else STORE((WORD *)p, (const WORD *)f.x, pitch, 1);                                                            \
    }
// D = A * B + C; only products of integers can be told to saturate.
#define GRADER_PRODUCT(M, N, K, T, D, D_WORD, C, C_WORD, CALL, SATURATED)                                               \
    template <class A, class B>                                                                                         \
    __device__ inline void mma_sync(fragment<accumulator, M, N, K, D> &d, const fragment<matrix_a, M, N, K, T, A> &a,  \
            const fragment<matrix_b, M, N, K, T, B> &b, const fragment<accumulator, M, N, K, C> &c, bool is_saturated = false) { \
        constexpr int layouts = 2 * grader_by_columns<A>::value + grader_by_columns<B>::value;                         \
        if (is_saturated) CALL((D_WORD *)d.x, (const int *)a.x, (const int *)b.x, (const C_WORD *)c.x, layouts, SATURATED); \
        else CALL((D_WORD *)d.x, (const int *)a.x, (const int *)b.x, (const C_WORD *)c.x, layouts, 0);                 \
    }
#define GRADER_OF_TYPE(M, N, K, T, PREFIX, SUFFIX)                                                                      \
    GRADER_OPERAND(matrix_a, M, N, K, T, PREFIX##_ld_a##SUFFIX)                                                        \
    GRADER_OPERAND(matrix_b, M, N, K, T, PREFIX##_ld_b##SUFFIX)
#define GRADER_SHAPE(M, N, SHAPE)                                                                                       \
    GRADER_OF_TYPE(M, N, 16, __half, __hmma_##SHAPE, )                                                                 \
    GRADER_OF_TYPE(M, N, 16, __nv_bfloat16, __mma_bf16_##SHAPE, )                                                      \
    GRADER_OF_TYPE(M, N, 16, signed char, __imma_##SHAPE, _s8)                                                         \
    GRADER_OF_TYPE(M, N, 16, unsigned char, __imma_##SHAPE, _u8)                                                       \
    GRADER_ACCUMULATOR(M, N, 16, float, float, __hmma_##SHAPE##_ld_c_f32, __hmma_##SHAPE##_st_c_f32)                   \
    GRADER_ACCUMULATOR(M, N, 16, __half, int, __hmma_##SHAPE##_ld_c_f16, __hmma_##SHAPE##_st_c_f16)                    \
    GRADER_ACCUMULATOR(M, N, 16, int, int, __imma_##SHAPE##_ld_c, __imma_##SHAPE##_st_c_i32)                           \
    GRADER_PRODUCT(M, N, 16, __half, float, float, float, float, __hmma_##SHAPE##_mma_f32f32, 0)                       \
    GRADER_PRODUCT(M, N, 16, __half, __half, int, __half, int, __hmma_##SHAPE##_mma_f16f16, 0)                         \
    GRADER_PRODUCT(M, N, 16, __half, float, float, __half, int, __hmma_##SHAPE##_mma_f32f16, 0)                        \
    GRADER_PRODUCT(M, N, 16, __half, __half, int, float, float, __hmma_##SHAPE##_mma_f16f32, 0)                        \
    GRADER_PRODUCT(M, N, 16, __nv_bfloat16, float, float, float, float, __mma_bf16_##SHAPE##_mma_f32, 0)               \
    GRADER_PRODUCT(M, N, 16, signed char, int, int, int, int, __imma_##SHAPE##_mma_s8, 1)                              \
    GRADER_PRODUCT(M, N, 16, unsigned char, int, int, int, int, __imma_##SHAPE##_mma_u8, 1)
GRADER_SHAPE(16, 16, m16n16k16)
GRADER_SHAPE(32, 8, m32n8k16)
GRADER_SHAPE(8, 32, m8n32k16)
GRADER_OF_TYPE(16, 16, 8, precision::tf32, __mma_tf32_m16n16k8, )
GRADER_ACCUMULATOR(16, 16, 8, float, float, __mma_tf32_m16n16k8_ld_c, __mma_m16n16k8_st_c_f32)
GRADER_PRODUCT(16, 16, 8, precision::tf32, float, float, float, float, __mma_tf32_m16n16k8_mma_f32, 0)
#undef GRADER_SHAPE
#undef GRADER_OF_TYPE
#undef GRADER_PRODUCT
#undef GRADER_ACCUMULATOR
#undef GRADER_OPERAND
#endif
}
}
