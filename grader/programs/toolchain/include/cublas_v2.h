// The part of cuBLAS that is served, with its own places to be told of.
#pragma once
#include "cuda_runtime.h"
struct cublasContext;
typedef cublasContext *cublasHandle_t;
enum cublasStatus_t {
    CUBLAS_STATUS_SUCCESS = 0,
    CUBLAS_STATUS_NOT_INITIALIZED = 1,
    CUBLAS_STATUS_ALLOC_FAILED = 3,
    CUBLAS_STATUS_INVALID_VALUE = 7,
    CUBLAS_STATUS_ARCH_MISMATCH = 8,
    CUBLAS_STATUS_MAPPING_ERROR = 11,
    CUBLAS_STATUS_EXECUTION_FAILED = 13,
    CUBLAS_STATUS_INTERNAL_ERROR = 14,
    CUBLAS_STATUS_NOT_SUPPORTED = 15
};
enum cublasOperation_t { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2 };
enum cublasPointerMode_t { CUBLAS_POINTER_MODE_HOST = 0, CUBLAS_POINTER_MODE_DEVICE = 1 };
enum cublasMath_t { CUBLAS_DEFAULT_MATH = 0, CUBLAS_TENSOR_OP_MATH = 1, CUBLAS_PEDANTIC_MATH = 2, CUBLAS_TF32_TENSOR_OP_MATH = 3 };

#define GRADER_BLAS(name, ...) GRADER_IMPORT(#name) cublasStatus_t name(cublasHandle_t handle, __VA_ARGS__, GRADER_PLACE);
GRADER_IMPORT("cublasCreate") cublasStatus_t cublasCreate(cublasHandle_t *handle, GRADER_PLACE);
GRADER_IMPORT("cublasDestroy") cublasStatus_t cublasDestroy(cublasHandle_t handle, GRADER_PLACE);
GRADER_BLAS(cublasSetStream, cudaStream_t stream)
GRADER_BLAS(cublasSetMathMode, cublasMath_t mode)
GRADER_BLAS(cublasSetPointerMode, cublasPointerMode_t mode)
#define GRADER_BLAS_OF(L, T) \
    GRADER_BLAS(cublas##L##gemm, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, const T *alpha, const T *a, int lda, const T *b, int ldb, const T *beta, T *c, int ldc) \
    GRADER_BLAS(cublas##L##gemv, cublasOperation_t t, int m, int n, const T *alpha, const T *a, int lda, const T *x, int incx, const T *beta, T *y, int incy) \
    GRADER_BLAS(cublas##L##geam, cublasOperation_t ta, cublasOperation_t tb, int m, int n, const T *alpha, const T *a, int lda, const T *beta, const T *b, int ldb, T *c, int ldc) \
    GRADER_BLAS(cublas##L##axpy, int n, const T *alpha, const T *x, int incx, T *y, int incy) \
    GRADER_BLAS(cublas##L##scal, int n, const T *alpha, T *x, int incx) \
    GRADER_BLAS(cublas##L##dot, int n, const T *x, int incx, const T *y, int incy, T *result) \
    GRADER_BLAS(cublas##L##nrm2, int n, const T *x, int incx, T *result) \
    GRADER_BLAS(cublas##L##asum, int n, const T *x, int incx, T *result)
GRADER_BLAS_OF(S, float)
GRADER_BLAS_OF(D, double)
#undef GRADER_BLAS_OF
#undef GRADER_BLAS

inline cublasStatus_t grader_blas_status(cudaError_t e) { return e ? CUBLAS_STATUS_MAPPING_ERROR : CUBLAS_STATUS_SUCCESS; }
inline cublasStatus_t cublasSetVector(int n, int size, const void *x, int incx, void *y, int incy, GRADER_PLACE) {
    return grader_blas_status(cudaMemcpy2D(y, (size_t)incy * size, x, (size_t)incx * size, size, n, cudaMemcpyHostToDevice, GRADER_HERE));
}
inline cublasStatus_t cublasGetVector(int n, int size, const void *x, int incx, void *y, int incy, GRADER_PLACE) {
    return grader_blas_status(cudaMemcpy2D(y, (size_t)incy * size, x, (size_t)incx * size, size, n, cudaMemcpyDeviceToHost, GRADER_HERE));
}
inline cublasStatus_t cublasSetMatrix(int rows, int cols, int size, const void *a, int lda, void *b, int ldb, GRADER_PLACE) {
    return grader_blas_status(cudaMemcpy2D(b, (size_t)ldb * size, a, (size_t)lda * size, (size_t)rows * size, cols, cudaMemcpyHostToDevice, GRADER_HERE));
}
inline cublasStatus_t cublasGetMatrix(int rows, int cols, int size, const void *a, int lda, void *b, int ldb, GRADER_PLACE) {
    return grader_blas_status(cudaMemcpy2D(b, (size_t)ldb * size, a, (size_t)lda * size, (size_t)rows * size, cols, cudaMemcpyDeviceToHost, GRADER_HERE));
}
inline const char *cublasGetStatusString(cublasStatus_t s) { return s == CUBLAS_STATUS_SUCCESS ? "success" : "failure"; }
