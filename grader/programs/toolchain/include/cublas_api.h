// cuBLAS: what is served of it, every call with its place to be told of.
#pragma once
#define CUBLAS_API_H_
#define CUBLAS_V2_H_
#include "cuda_runtime.h"
#include "cuComplex.h"
#include "cuda_fp16.h"
#include "cuda_bf16.h"
#include "library_types.h"
#include <stdint.h>
#define CUBLAS_VER_MAJOR 13
#define CUBLAS_VER_MINOR 0
#define CUBLAS_VER_PATCH 0
#define CUBLAS_VERSION 130000
struct cublasContext;
typedef cublasContext *cublasHandle_t;
enum cublasStatus_t {
    CUBLAS_STATUS_SUCCESS = 0, CUBLAS_STATUS_NOT_INITIALIZED = 1, CUBLAS_STATUS_ALLOC_FAILED = 3,
    CUBLAS_STATUS_INVALID_VALUE = 7, CUBLAS_STATUS_ARCH_MISMATCH = 8, CUBLAS_STATUS_MAPPING_ERROR = 11,
    CUBLAS_STATUS_EXECUTION_FAILED = 13, CUBLAS_STATUS_INTERNAL_ERROR = 14, CUBLAS_STATUS_NOT_SUPPORTED = 15,
    CUBLAS_STATUS_LICENSE_ERROR = 16
};
typedef cublasStatus_t cublasStatus;
enum cublasFillMode_t { CUBLAS_FILL_MODE_LOWER = 0, CUBLAS_FILL_MODE_UPPER = 1, CUBLAS_FILL_MODE_FULL = 2 };
enum cublasDiagType_t { CUBLAS_DIAG_NON_UNIT = 0, CUBLAS_DIAG_UNIT = 1 };
enum cublasSideMode_t { CUBLAS_SIDE_LEFT = 0, CUBLAS_SIDE_RIGHT = 1 };
enum cublasOperation_t { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2, CUBLAS_OP_HERMITAN = 2, CUBLAS_OP_CONJG = 3 };
enum cublasPointerMode_t { CUBLAS_POINTER_MODE_HOST = 0, CUBLAS_POINTER_MODE_DEVICE = 1 };
enum cublasAtomicsMode_t { CUBLAS_ATOMICS_NOT_ALLOWED = 0, CUBLAS_ATOMICS_ALLOWED = 1 };
enum cublasGemmAlgo_t { CUBLAS_GEMM_DFALT = -1, CUBLAS_GEMM_DEFAULT = -1, CUBLAS_GEMM_ALGO0 = 0, CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99, CUBLAS_GEMM_DFALT_TENSOR_OP = 99, CUBLAS_GEMM_ALGO0_TENSOR_OP = 100 };
enum cublasMath_t {
    CUBLAS_DEFAULT_MATH = 0, CUBLAS_TENSOR_OP_MATH = 1, CUBLAS_PEDANTIC_MATH = 2, CUBLAS_TF32_TENSOR_OP_MATH = 3,
    CUBLAS_FP32_EMULATED_BF16X9_MATH = 4, CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH = 8, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16
};
enum cublasComputeType_t {
    CUBLAS_COMPUTE_16F = 64, CUBLAS_COMPUTE_16F_PEDANTIC = 65, CUBLAS_COMPUTE_32F = 68, CUBLAS_COMPUTE_32F_PEDANTIC = 69,
    CUBLAS_COMPUTE_64F = 70, CUBLAS_COMPUTE_64F_PEDANTIC = 71, CUBLAS_COMPUTE_32I = 72, CUBLAS_COMPUTE_32I_PEDANTIC = 73,
    CUBLAS_COMPUTE_32F_FAST_16F = 74, CUBLAS_COMPUTE_32F_FAST_16BF = 75, CUBLAS_COMPUTE_32F_FAST_TF32 = 77
};
typedef cudaDataType cublasDataType_t;

// How products of wide numbers may be made up of narrow ones. No device that is told of here has that: the library computes them as they are.
enum cublasEmulationStrategy_t { CUBLAS_EMULATION_STRATEGY_DEFAULT = 0, CUBLAS_EMULATION_STRATEGY_PERFORMANT = 1, CUBLAS_EMULATION_STRATEGY_EAGER = 2 };
inline cublasStatus_t cublasSetEmulationStrategy(cublasHandle_t, cublasEmulationStrategy_t) { return CUBLAS_STATUS_SUCCESS; }
inline cublasStatus_t cublasSetEmulationSpecialValuesSupport(cublasHandle_t, cudaEmulationSpecialValuesSupport) { return CUBLAS_STATUS_SUCCESS; }
inline cublasStatus_t cublasSetFixedPointEmulationMantissaControl(cublasHandle_t, cudaEmulationMantissaControl) { return CUBLAS_STATUS_SUCCESS; }
inline cublasStatus_t cublasSetFixedPointEmulationMaxMantissaBitCount(cublasHandle_t, int) { return CUBLAS_STATUS_SUCCESS; }
inline cublasStatus_t cublasSetFixedPointEmulationMantissaBitOffset(cublasHandle_t, int) { return CUBLAS_STATUS_SUCCESS; }
// The same call under the name that the headers of NVIDIA give it, too.
#define GRADER_BLAS_(name, ...) \
    GRADER_IMPORT(#name) cublasStatus_t name(__VA_ARGS__, GRADER_PLACE); \
    GRADER_IMPORT(#name) cublasStatus_t name##_v2(__VA_ARGS__, GRADER_PLACE);
#define GRADER_BLAS(name, ...) GRADER_BLAS_(name, cublasHandle_t handle, __VA_ARGS__)
GRADER_BLAS_(cublasCreate, cublasHandle_t *handle)
GRADER_BLAS_(cublasDestroy, cublasHandle_t handle)
GRADER_BLAS(cublasSetStream, cudaStream_t stream)
GRADER_BLAS(cublasGetStream, cudaStream_t *stream)
GRADER_BLAS(cublasSetMathMode, cublasMath_t mode)
GRADER_BLAS(cublasGetMathMode, cublasMath_t *mode)
GRADER_BLAS(cublasSetPointerMode, cublasPointerMode_t mode)
GRADER_BLAS(cublasGetPointerMode, cublasPointerMode_t *mode)
GRADER_BLAS(cublasSetAtomicsMode, cublasAtomicsMode_t mode)
GRADER_BLAS(cublasGetAtomicsMode, cublasAtomicsMode_t *mode)
GRADER_BLAS(cublasSetSmCountTarget, int multiprocessors)
GRADER_BLAS(cublasGetVersion, int *version)
GRADER_BLAS(cublasSetWorkspace, void *workspace, size_t bytes)

#define GRADER_A const T *a, int lda
#define GRADER_B const T *b, int ldb
#define GRADER_X const T *x, int incx
#define GRADER_Y const T *y, int incy
#define GRADER_SHAPE cublasFillMode_t fill, cublasOperation_t t, cublasDiagType_t unit
#define GRADER_TWO cublasOperation_t ta, cublasOperation_t tb
// Of any type of number: L its letter, T the number, R its parts, I the letter of amax.
#define GRADER_BLAS_OF(L, I) \
    GRADER_BLAS(cublas##L##copy, int n, GRADER_X, T *y, int incy) \
    GRADER_BLAS(cublas##L##swap, int n, T *x, int incx, T *y, int incy) \
    GRADER_BLAS(cublas##L##scal, int n, const T *alpha, T *x, int incx) \
    GRADER_BLAS(cublas##L##axpy, int n, const T *alpha, GRADER_X, T *y, int incy) \
    GRADER_BLAS(cublasI##I##amax, int n, GRADER_X, int *result) \
    GRADER_BLAS(cublasI##I##amin, int n, GRADER_X, int *result) \
    GRADER_BLAS(cublas##L##rot, int n, T *x, int incx, T *y, int incy, const R *c, const T *s) \
    GRADER_BLAS(cublas##L##rotg, T *a, T *b, R *c, T *s) \
    GRADER_BLAS(cublas##L##gemv, cublasOperation_t t, int m, int n, const T *alpha, GRADER_A, GRADER_X, const T *beta, T *y, int incy) \
    GRADER_BLAS(cublas##L##gbmv, cublasOperation_t t, int m, int n, int kl, int ku, const T *alpha, GRADER_A, GRADER_X, const T *beta, T *y, int incy) \
    GRADER_BLAS(cublas##L##symv, cublasFillMode_t fill, int n, const T *alpha, GRADER_A, GRADER_X, const T *beta, T *y, int incy) \
    GRADER_BLAS(cublas##L##trmv, GRADER_SHAPE, int n, GRADER_A, T *x, int incx) \
    GRADER_BLAS(cublas##L##trsv, GRADER_SHAPE, int n, GRADER_A, T *x, int incx) \
    GRADER_BLAS(cublas##L##tbmv, GRADER_SHAPE, int n, int k, GRADER_A, T *x, int incx) \
    GRADER_BLAS(cublas##L##tbsv, GRADER_SHAPE, int n, int k, GRADER_A, T *x, int incx) \
    GRADER_BLAS(cublas##L##tpmv, GRADER_SHAPE, int n, const T *a, T *x, int incx) \
    GRADER_BLAS(cublas##L##tpsv, GRADER_SHAPE, int n, const T *a, T *x, int incx) \
    GRADER_BLAS(cublas##L##syr, cublasFillMode_t fill, int n, const T *alpha, GRADER_X, T *a, int lda) \
    GRADER_BLAS(cublas##L##syr2, cublasFillMode_t fill, int n, const T *alpha, GRADER_X, GRADER_Y, T *a, int lda) \
    GRADER_BLAS(cublas##L##gemm, GRADER_TWO, int m, int n, int k, const T *alpha, GRADER_A, GRADER_B, const T *beta, T *c, int ldc) \
    GRADER_BLAS(cublas##L##symm, cublasSideMode_t side, cublasFillMode_t fill, int m, int n, const T *alpha, GRADER_A, GRADER_B, const T *beta, T *c, int ldc) \
    GRADER_BLAS(cublas##L##syrk, cublasFillMode_t fill, cublasOperation_t t, int n, int k, const T *alpha, GRADER_A, const T *beta, T *c, int ldc) \
    GRADER_BLAS(cublas##L##syr2k, cublasFillMode_t fill, cublasOperation_t t, int n, int k, const T *alpha, GRADER_A, GRADER_B, const T *beta, T *c, int ldc) \
    GRADER_BLAS(cublas##L##syrkx, cublasFillMode_t fill, cublasOperation_t t, int n, int k, const T *alpha, GRADER_A, GRADER_B, const T *beta, T *c, int ldc) \
    GRADER_BLAS(cublas##L##trmm, cublasSideMode_t side, GRADER_SHAPE, int m, int n, const T *alpha, GRADER_A, GRADER_B, T *c, int ldc) \
    GRADER_BLAS(cublas##L##trsm, cublasSideMode_t side, GRADER_SHAPE, int m, int n, const T *alpha, GRADER_A, T *b, int ldb) \
    GRADER_BLAS(cublas##L##geam, GRADER_TWO, int m, int n, const T *alpha, GRADER_A, const T *beta, GRADER_B, T *c, int ldc) \
    GRADER_BLAS(cublas##L##dgmm, cublasSideMode_t side, int m, int n, GRADER_A, GRADER_X, T *c, int ldc) \
    GRADER_BLAS(cublas##L##gemmBatched, GRADER_TWO, int m, int n, int k, const T *alpha, const T *const a[], int lda, const T *const b[], int ldb, const T *beta, T *const c[], int ldc, int count) \
    GRADER_BLAS(cublas##L##gemmStridedBatched, GRADER_TWO, int m, int n, int k, const T *alpha, GRADER_A, long long sa, GRADER_B, long long sb, const T *beta, T *c, int ldc, long long sc, int count) \
    GRADER_BLAS(cublas##L##gemvBatched, cublasOperation_t t, int m, int n, const T *alpha, const T *const a[], int lda, const T *const x[], int incx, const T *beta, T *const y[], int incy, int count) \
    GRADER_BLAS(cublas##L##gemvStridedBatched, cublasOperation_t t, int m, int n, const T *alpha, GRADER_A, long long sa, GRADER_X, long long sx, const T *beta, T *y, int incy, long long sy, int count) \
    GRADER_BLAS(cublas##L##trsmBatched, cublasSideMode_t side, GRADER_SHAPE, int m, int n, const T *alpha, const T *const a[], int lda, T *const b[], int ldb, int count) \
    GRADER_BLAS(cublas##L##getrfBatched, int n, T *const a[], int lda, int *pivots, int *info, int count) \
    GRADER_BLAS(cublas##L##getriBatched, int n, const T *const a[], int lda, const int *pivots, T *const c[], int ldc, int *info, int count) \
    GRADER_BLAS(cublas##L##getrsBatched, cublasOperation_t t, int n, int columns, const T *const a[], int lda, const int *pivots, T *const b[], int ldb, int *info, int count) \
    GRADER_BLAS(cublas##L##matinvBatched, int n, const T *const a[], int lda, T *const c[], int ldc, int *info, int count) \
    GRADER_BLAS(cublas##L##gelsBatched, cublasOperation_t t, int m, int n, int columns, T *const a[], int lda, T *const c[], int ldc, int *info, int *infos, int count) \
    GRADER_BLAS(cublas##L##tpttr, cublasFillMode_t fill, int n, const T *packed, T *a, int lda) \
    GRADER_BLAS(cublas##L##trttp, cublasFillMode_t fill, int n, const T *a, int lda, T *packed)
#define GRADER_BLAS_REAL(L) \
    GRADER_BLAS(cublas##L##nrm2, int n, GRADER_X, R *result) \
    GRADER_BLAS(cublas##L##asum, int n, GRADER_X, R *result) \
    GRADER_BLAS(cublas##L##dot, int n, GRADER_X, GRADER_Y, T *result) \
    GRADER_BLAS(cublas##L##gemmGroupedBatched, const cublasOperation_t *ta, const cublasOperation_t *tb, const int *m, const int *n, const int *k, const T *alpha, const T *const a[], const int *lda, const T *const b[], const int *ldb, const T *beta, T *const c[], const int *ldc, int count, const int *of_group) \
    GRADER_BLAS(cublas##L##rotm, int n, T *x, int incx, T *y, int incy, const T *parameters) \
    GRADER_BLAS(cublas##L##rotmg, T *d1, T *d2, T *x1, const T *y1, T *parameters) \
    GRADER_BLAS(cublas##L##ger, int m, int n, const T *alpha, GRADER_X, GRADER_Y, T *a, int lda) \
    GRADER_BLAS(cublas##L##sbmv, cublasFillMode_t fill, int n, int k, const T *alpha, GRADER_A, GRADER_X, const T *beta, T *y, int incy) \
    GRADER_BLAS(cublas##L##spmv, cublasFillMode_t fill, int n, const T *alpha, const T *a, GRADER_X, const T *beta, T *y, int incy) \
    GRADER_BLAS(cublas##L##spr, cublasFillMode_t fill, int n, const T *alpha, GRADER_X, T *a) \
    GRADER_BLAS(cublas##L##spr2, cublasFillMode_t fill, int n, const T *alpha, GRADER_X, GRADER_Y, T *a)
// P: the letters of norms, Q: of a real factor and rotation.
#define GRADER_BLAS_COMPLEX(L, P, Q) \
    GRADER_BLAS(cublas##P##nrm2, int n, GRADER_X, R *result) \
    GRADER_BLAS(cublas##P##asum, int n, GRADER_X, R *result) \
    GRADER_BLAS(cublas##Q##scal, int n, const R *alpha, T *x, int incx) \
    GRADER_BLAS(cublas##Q##rot, int n, T *x, int incx, T *y, int incy, const R *c, const R *s) \
    GRADER_BLAS(cublas##L##dotu, int n, GRADER_X, GRADER_Y, T *result) \
    GRADER_BLAS(cublas##L##dotc, int n, GRADER_X, GRADER_Y, T *result) \
    GRADER_BLAS(cublas##L##geru, int m, int n, const T *alpha, GRADER_X, GRADER_Y, T *a, int lda) \
    GRADER_BLAS(cublas##L##gerc, int m, int n, const T *alpha, GRADER_X, GRADER_Y, T *a, int lda) \
    GRADER_BLAS(cublas##L##hemv, cublasFillMode_t fill, int n, const T *alpha, GRADER_A, GRADER_X, const T *beta, T *y, int incy) \
    GRADER_BLAS(cublas##L##hbmv, cublasFillMode_t fill, int n, int k, const T *alpha, GRADER_A, GRADER_X, const T *beta, T *y, int incy) \
    GRADER_BLAS(cublas##L##hpmv, cublasFillMode_t fill, int n, const T *alpha, const T *a, GRADER_X, const T *beta, T *y, int incy) \
    GRADER_BLAS(cublas##L##her, cublasFillMode_t fill, int n, const R *alpha, GRADER_X, T *a, int lda) \
    GRADER_BLAS(cublas##L##her2, cublasFillMode_t fill, int n, const T *alpha, GRADER_X, GRADER_Y, T *a, int lda) \
    GRADER_BLAS(cublas##L##hpr, cublasFillMode_t fill, int n, const R *alpha, GRADER_X, T *a) \
    GRADER_BLAS(cublas##L##hpr2, cublasFillMode_t fill, int n, const T *alpha, GRADER_X, GRADER_Y, T *a) \
    GRADER_BLAS(cublas##L##hemm, cublasSideMode_t side, cublasFillMode_t fill, int m, int n, const T *alpha, GRADER_A, GRADER_B, const T *beta, T *c, int ldc) \
    GRADER_BLAS(cublas##L##herk, cublasFillMode_t fill, cublasOperation_t t, int n, int k, const R *alpha, GRADER_A, const R *beta, T *c, int ldc) \
    GRADER_BLAS(cublas##L##her2k, cublasFillMode_t fill, cublasOperation_t t, int n, int k, const T *alpha, GRADER_A, GRADER_B, const R *beta, T *c, int ldc) \
    GRADER_BLAS(cublas##L##herkx, cublasFillMode_t fill, cublasOperation_t t, int n, int k, const T *alpha, GRADER_A, GRADER_B, const R *beta, T *c, int ldc) \
    GRADER_BLAS(cublas##L##gemm3m, GRADER_TWO, int m, int n, int k, const T *alpha, GRADER_A, GRADER_B, const T *beta, T *c, int ldc) \
    GRADER_BLAS(cublas##L##gemm3mStridedBatched, GRADER_TWO, int m, int n, int k, const T *alpha, GRADER_A, long long sa, GRADER_B, long long sb, const T *beta, T *c, int ldc, long long sc, int count)
#define T float
#define R float
GRADER_BLAS_OF(S, s)
GRADER_BLAS_REAL(S)
#undef T
#undef R
#define T double
#define R double
GRADER_BLAS_OF(D, d)
GRADER_BLAS_REAL(D)
#undef T
#undef R
#define T cuComplex
#define R float
GRADER_BLAS_OF(C, c)
GRADER_BLAS_COMPLEX(C, Sc, Cs)
#undef T
#undef R
#define T cuDoubleComplex
#define R double
GRADER_BLAS_OF(Z, z)
GRADER_BLAS_COMPLEX(Z, Dz, Zd)
#undef T
#undef R
#define T __half
GRADER_BLAS(cublasHgemm, GRADER_TWO, int m, int n, int k, const T *alpha, GRADER_A, GRADER_B, const T *beta, T *c, int ldc)
GRADER_BLAS(cublasHgemmBatched, GRADER_TWO, int m, int n, int k, const T *alpha, const T *const a[], int lda, const T *const b[], int ldb, const T *beta, T *const c[], int ldc, int count)
GRADER_BLAS(cublasHgemmStridedBatched, GRADER_TWO, int m, int n, int k, const T *alpha, GRADER_A, long long sa, GRADER_B, long long sb, const T *beta, T *c, int ldc, long long sc, int count)
#undef T
#define GRADER_TYPED(name) const void *name, cudaDataType name##_type, int ld##name
#define GRADER_VECTOR(name) void *name, cudaDataType name##_type, int inc##name
GRADER_BLAS(cublasGemmEx, GRADER_TWO, int m, int n, int k, const void *alpha, GRADER_TYPED(a), GRADER_TYPED(b), const void *beta, void *c, cudaDataType c_type, int ldc, cublasComputeType_t compute, cublasGemmAlgo_t algorithm)
GRADER_BLAS(cublasGemmGroupedBatchedEx, const cublasOperation_t *ta, const cublasOperation_t *tb, const int *m, const int *n, const int *k, const void *alpha, const void *const a[], cudaDataType a_type, const int *lda, const void *const b[], cudaDataType b_type, const int *ldb, const void *beta, void *const c[], cudaDataType c_type, const int *ldc, int count, const int *of_group, cublasComputeType_t compute)
GRADER_BLAS(cublasGemmBatchedEx, GRADER_TWO, int m, int n, int k, const void *alpha, const void *const a[], cudaDataType a_type, int lda, const void *const b[], cudaDataType b_type, int ldb, const void *beta, void *const c[], cudaDataType c_type, int ldc, int count, cublasComputeType_t compute, cublasGemmAlgo_t algorithm)
GRADER_BLAS(cublasGemmStridedBatchedEx, GRADER_TWO, int m, int n, int k, const void *alpha, GRADER_TYPED(a), long long sa, GRADER_TYPED(b), long long sb, const void *beta, void *c, cudaDataType c_type, int ldc, long long sc, int count, cublasComputeType_t compute, cublasGemmAlgo_t algorithm)
GRADER_BLAS(cublasSgemmEx, GRADER_TWO, int m, int n, int k, const float *alpha, GRADER_TYPED(a), GRADER_TYPED(b), const float *beta, void *c, cudaDataType c_type, int ldc)
GRADER_BLAS(cublasDotEx, int n, const GRADER_VECTOR(x), const GRADER_VECTOR(y), void *result, cudaDataType result_type, cudaDataType compute)
GRADER_BLAS(cublasDotcEx, int n, const GRADER_VECTOR(x), const GRADER_VECTOR(y), void *result, cudaDataType result_type, cudaDataType compute)
GRADER_BLAS(cublasAxpyEx, int n, const void *alpha, cudaDataType alpha_type, const GRADER_VECTOR(x), GRADER_VECTOR(y), cudaDataType compute)
GRADER_BLAS(cublasScalEx, int n, const void *alpha, cudaDataType alpha_type, GRADER_VECTOR(x), cudaDataType compute)
GRADER_BLAS(cublasNrm2Ex, int n, const GRADER_VECTOR(x), void *result, cudaDataType result_type, cudaDataType compute)
GRADER_BLAS(cublasRotEx, int n, GRADER_VECTOR(x), GRADER_VECTOR(y), const void *c, const void *s, cudaDataType cs_type, cudaDataType compute)
// As before CUDA 11, with the type of the factors in the computation's place.
inline cublasComputeType_t grader_compute(cudaDataType type) {
    return type == CUDA_R_64F || type == CUDA_C_64F ? CUBLAS_COMPUTE_64F : type == CUDA_R_32I ? CUBLAS_COMPUTE_32I : type == CUDA_R_16F ? CUBLAS_COMPUTE_16F : CUBLAS_COMPUTE_32F;
}
inline cublasStatus_t cublasGemmEx(cublasHandle_t handle, GRADER_TWO, int m, int n, int k, const void *alpha, GRADER_TYPED(a), GRADER_TYPED(b), const void *beta, void *c, cudaDataType c_type, int ldc, cudaDataType compute, cublasGemmAlgo_t algorithm, GRADER_PLACE) {
    return cublasGemmEx(handle, ta, tb, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc, grader_compute(compute), algorithm, GRADER_HERE);
}
inline cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, GRADER_TWO, int m, int n, int k, const void *alpha, GRADER_TYPED(a), long long sa, GRADER_TYPED(b), long long sb, const void *beta, void *c, cudaDataType c_type, int ldc, long long sc, int count, cudaDataType compute, cublasGemmAlgo_t algorithm, GRADER_PLACE) {
    return cublasGemmStridedBatchedEx(handle, ta, tb, m, n, k, alpha, a, a_type, lda, sa, b, b_type, ldb, sb, beta, c, c_type, ldc, sc, count, grader_compute(compute), algorithm, GRADER_HERE);
}
#undef GRADER_BLAS_OF
#undef GRADER_BLAS_REAL
#undef GRADER_BLAS_COMPLEX
#undef GRADER_BLAS
#undef GRADER_BLAS_
#undef GRADER_A
#undef GRADER_B
#undef GRADER_X
#undef GRADER_Y
#undef GRADER_SHAPE
#undef GRADER_TWO
#undef GRADER_TYPED
#undef GRADER_VECTOR

inline cublasStatus_t grader_blas_status(cudaError_t e) { return e ? CUBLAS_STATUS_MAPPING_ERROR : CUBLAS_STATUS_SUCCESS; }
#define GRADER_MOVE(name, direction) \
    inline cublasStatus_t cublas##name##Vector(int n, int size, const void *x, int incx, void *y, int incy, GRADER_PLACE) { \
        return grader_blas_status(cudaMemcpy2D(y, (size_t)incy * size, x, (size_t)incx * size, size, n, direction, GRADER_HERE)); \
    } \
    inline cublasStatus_t cublas##name##Matrix(int rows, int columns, int size, const void *a, int lda, void *b, int ldb, GRADER_PLACE) { \
        return grader_blas_status(cudaMemcpy2D(b, (size_t)ldb * size, a, (size_t)lda * size, (size_t)rows * size, columns, direction, GRADER_HERE)); \
    } \
    inline cublasStatus_t cublas##name##VectorAsync(int n, int size, const void *x, int incx, void *y, int incy, cudaStream_t stream, GRADER_PLACE) { \
        return grader_blas_status(cudaMemcpy2DAsync(y, (size_t)incy * size, x, (size_t)incx * size, size, n, direction, stream, GRADER_HERE)); \
    } \
    inline cublasStatus_t cublas##name##MatrixAsync(int rows, int columns, int size, const void *a, int lda, void *b, int ldb, cudaStream_t stream, GRADER_PLACE) { \
        return grader_blas_status(cudaMemcpy2DAsync(b, (size_t)ldb * size, a, (size_t)lda * size, (size_t)rows * size, columns, direction, stream, GRADER_HERE)); \
    }
GRADER_MOVE(Set, cudaMemcpyHostToDevice)
GRADER_MOVE(Get, cudaMemcpyDeviceToHost)
#undef GRADER_MOVE
// Products with the adjoint, by types of data, of which single precision is served; with three products for four it is the
// same to the last bits.
#define GRADER_BLAS_RANK_K(name, plain, R) \
    inline cublasStatus_t name(cublasHandle_t handle, cublasFillMode_t fill, cublasOperation_t t, int n, int k, const R *alpha, const void *a, cudaDataType at, int lda, const R *beta, void *c, cudaDataType ct, int ldc, GRADER_PLACE) { \
        if (at != CUDA_C_32F || ct != CUDA_C_32F) return CUBLAS_STATUS_NOT_SUPPORTED; \
        return plain(handle, fill, t, n, k, alpha, (const cuComplex *)a, lda, beta, (cuComplex *)c, ldc, GRADER_HERE); \
    }
GRADER_BLAS_RANK_K(cublasCherkEx, cublasCherk, float)
GRADER_BLAS_RANK_K(cublasCherk3mEx, cublasCherk, float)
GRADER_BLAS_RANK_K(cublasCsyrkEx, cublasCsyrk, cuComplex)
GRADER_BLAS_RANK_K(cublasCsyrk3mEx, cublasCsyrk, cuComplex)
#undef GRADER_BLAS_RANK_K
inline const char *cublasGetStatusName(cublasStatus_t s) {
    switch (s) {
#define GRADER_STATUS(name) case CUBLAS_STATUS_##name: return "CUBLAS_STATUS_" #name;
        GRADER_STATUS(SUCCESS) GRADER_STATUS(NOT_INITIALIZED) GRADER_STATUS(ALLOC_FAILED) GRADER_STATUS(INVALID_VALUE)
        GRADER_STATUS(ARCH_MISMATCH) GRADER_STATUS(MAPPING_ERROR) GRADER_STATUS(EXECUTION_FAILED)
        GRADER_STATUS(INTERNAL_ERROR) GRADER_STATUS(NOT_SUPPORTED) GRADER_STATUS(LICENSE_ERROR)
#undef GRADER_STATUS
    }
    return "CUBLAS_STATUS_UNKNOWN";
}
inline const char *cublasGetStatusString(cublasStatus_t s) {
    switch (s) {
    case CUBLAS_STATUS_SUCCESS: return "success";
    case CUBLAS_STATUS_NOT_INITIALIZED: return "the library was not initialized";
    case CUBLAS_STATUS_ALLOC_FAILED: return "the resource allocation failed";
    case CUBLAS_STATUS_INVALID_VALUE: return "an unsupported value or parameter was passed to the function";
    case CUBLAS_STATUS_ARCH_MISMATCH: return "the function requires an architectural feature absent from the device";
    case CUBLAS_STATUS_MAPPING_ERROR: return "an access to GPU memory space failed";
    case CUBLAS_STATUS_EXECUTION_FAILED: return "the function failed to launch on the GPU";
    case CUBLAS_STATUS_INTERNAL_ERROR: return "an internal operation failed";
    case CUBLAS_STATUS_NOT_SUPPORTED: return "the functionality requested is not supported";
    case CUBLAS_STATUS_LICENSE_ERROR: return "the functionality requested requires a license";
    }
    return "unknown error";
}
