// cuBLAS as it was before handles: scalars by value, options by letters, the status asked for afterwards.
#pragma once
#include "cublas_v2.h"
inline cublasHandle_t grader_old_handle;
inline cublasStatus_t grader_old_status = CUBLAS_STATUS_SUCCESS;
inline void grader_old_note(cublasStatus_t status) {
    if (status != CUBLAS_STATUS_SUCCESS) grader_old_status = status;
}
inline cublasStatus_t cublasInit(GRADER_PLACE) {
    if (!grader_old_handle) grader_old_note(cublasCreate(&grader_old_handle, GRADER_HERE));
    return grader_old_handle ? CUBLAS_STATUS_SUCCESS : grader_old_status;
}
// A call before cublasInit() is no error: on an H200 with CUDA 13 cublasGetError() tells success after one.
inline cublasHandle_t grader_old(GRADER_PLACE) {
    cublasInit(GRADER_HERE);
    return grader_old_handle;
}
inline cublasStatus_t cublasShutdown(GRADER_PLACE) {
    if (!grader_old_handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    cublasStatus_t status = cublasDestroy(grader_old_handle, GRADER_HERE);
    grader_old_handle = nullptr;
    return status;
}
inline cublasStatus_t cublasGetError() {
    cublasStatus_t status = grader_old_status;
    grader_old_status = CUBLAS_STATUS_SUCCESS;
    return status;
}
inline cublasStatus_t cublasSetKernelStream(cudaStream_t stream, GRADER_PLACE) {
    return cublasSetStream(grader_old(GRADER_HERE), stream, GRADER_HERE);
}
inline cublasStatus_t cublasAlloc(int n, int size, void **pointer, GRADER_PLACE) {
    if (n <= 0 || size <= 0) return CUBLAS_STATUS_INVALID_VALUE;
    return cudaMalloc(pointer, (size_t)n * size, GRADER_HERE) == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}
inline cublasStatus_t cublasFree(void *pointer, GRADER_PLACE) {
    return cudaFree(pointer, GRADER_HERE) == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INTERNAL_ERROR;
}
inline cublasOperation_t grader_old_op(char t) { return t == 'T' || t == 't' ? CUBLAS_OP_T : t == 'C' || t == 'c' ? CUBLAS_OP_C : CUBLAS_OP_N; }
inline cublasFillMode_t grader_old_fill(char u) { return u == 'U' || u == 'u' ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER; }
inline cublasSideMode_t grader_old_side(char s) { return s == 'R' || s == 'r' ? CUBLAS_SIDE_RIGHT : CUBLAS_SIDE_LEFT; }
inline cublasDiagType_t grader_old_unit(char d) { return d == 'U' || d == 'u' ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT; }
#define GRADER_OLD_(name, parameters, ...) \
    inline void name parameters { grader_old_note(name(grader_old(GRADER_HERE), __VA_ARGS__, GRADER_HERE)); }
#define GRADER_OLD_RESULT_(R, name, parameters, ...) \
    inline R name parameters { R result{}; grader_old_note(name(grader_old(GRADER_HERE), __VA_ARGS__, &result, GRADER_HERE)); return result; }
#define GRADER_OLD(T, L, I) \
    GRADER_OLD_(cublas##L##copy, (int n, const T *x, int incx, T *y, int incy, GRADER_PLACE), n, x, incx, y, incy) \
    GRADER_OLD_(cublas##L##swap, (int n, T *x, int incx, T *y, int incy, GRADER_PLACE), n, x, incx, y, incy) \
    GRADER_OLD_(cublas##L##scal, (int n, T alpha, T *x, int incx, GRADER_PLACE), n, &alpha, x, incx) \
    GRADER_OLD_(cublas##L##axpy, (int n, T alpha, const T *x, int incx, T *y, int incy, GRADER_PLACE), n, &alpha, x, incx, y, incy) \
    GRADER_OLD_RESULT_(int, cublasI##I##amax, (int n, const T *x, int incx, GRADER_PLACE), n, x, incx) \
    GRADER_OLD_RESULT_(int, cublasI##I##amin, (int n, const T *x, int incx, GRADER_PLACE), n, x, incx) \
    GRADER_OLD_(cublas##L##gemv, (char t, int m, int n, T alpha, const T *a, int lda, const T *x, int incx, T beta, T *y, int incy, GRADER_PLACE), grader_old_op(t), m, n, &alpha, a, lda, x, incx, &beta, y, incy) \
    GRADER_OLD_(cublas##L##trmv, (char u, char t, char d, int n, const T *a, int lda, T *x, int incx, GRADER_PLACE), grader_old_fill(u), grader_old_op(t), grader_old_unit(d), n, a, lda, x, incx) \
    GRADER_OLD_(cublas##L##trsv, (char u, char t, char d, int n, const T *a, int lda, T *x, int incx, GRADER_PLACE), grader_old_fill(u), grader_old_op(t), grader_old_unit(d), n, a, lda, x, incx) \
    GRADER_OLD_(cublas##L##gemm, (char ta, char tb, int m, int n, int k, T alpha, const T *a, int lda, const T *b, int ldb, T beta, T *c, int ldc, GRADER_PLACE), grader_old_op(ta), grader_old_op(tb), m, n, k, &alpha, a, lda, b, ldb, &beta, c, ldc) \
    GRADER_OLD_(cublas##L##symm, (char s, char u, int m, int n, T alpha, const T *a, int lda, const T *b, int ldb, T beta, T *c, int ldc, GRADER_PLACE), grader_old_side(s), grader_old_fill(u), m, n, &alpha, a, lda, b, ldb, &beta, c, ldc) \
    GRADER_OLD_(cublas##L##syrk, (char u, char t, int n, int k, T alpha, const T *a, int lda, T beta, T *c, int ldc, GRADER_PLACE), grader_old_fill(u), grader_old_op(t), n, k, &alpha, a, lda, &beta, c, ldc) \
    GRADER_OLD_(cublas##L##syr2k, (char u, char t, int n, int k, T alpha, const T *a, int lda, const T *b, int ldb, T beta, T *c, int ldc, GRADER_PLACE), grader_old_fill(u), grader_old_op(t), n, k, &alpha, a, lda, b, ldb, &beta, c, ldc) \
    GRADER_OLD_(cublas##L##trmm, (char s, char u, char t, char d, int m, int n, T alpha, const T *a, int lda, T *b, int ldb, GRADER_PLACE), grader_old_side(s), grader_old_fill(u), grader_old_op(t), grader_old_unit(d), m, n, &alpha, a, lda, b, ldb, b, ldb) \
    GRADER_OLD_(cublas##L##trsm, (char s, char u, char t, char d, int m, int n, T alpha, const T *a, int lda, T *b, int ldb, GRADER_PLACE), grader_old_side(s), grader_old_fill(u), grader_old_op(t), grader_old_unit(d), m, n, &alpha, a, lda, b, ldb)
#define GRADER_OLD_REAL(T, L) \
    GRADER_OLD_RESULT_(T, cublas##L##dot, (int n, const T *x, int incx, const T *y, int incy, GRADER_PLACE), n, x, incx, y, incy) \
    GRADER_OLD_RESULT_(T, cublas##L##nrm2, (int n, const T *x, int incx, GRADER_PLACE), n, x, incx) \
    GRADER_OLD_RESULT_(T, cublas##L##asum, (int n, const T *x, int incx, GRADER_PLACE), n, x, incx) \
    GRADER_OLD_(cublas##L##ger, (int m, int n, T alpha, const T *x, int incx, const T *y, int incy, T *a, int lda, GRADER_PLACE), m, n, &alpha, x, incx, y, incy, a, lda) \
    GRADER_OLD_(cublas##L##symv, (char u, int n, T alpha, const T *a, int lda, const T *x, int incx, T beta, T *y, int incy, GRADER_PLACE), grader_old_fill(u), n, &alpha, a, lda, x, incx, &beta, y, incy) \
    GRADER_OLD_(cublas##L##rot, (int n, T *x, int incx, T *y, int incy, T c, T s, GRADER_PLACE), n, x, incx, y, incy, &c, &s)
GRADER_OLD(float, S, s)
GRADER_OLD(double, D, d)
GRADER_OLD(cuComplex, C, c)
GRADER_OLD(cuDoubleComplex, Z, z)
GRADER_OLD_REAL(float, S)
GRADER_OLD_REAL(double, D)
#undef GRADER_OLD
#undef GRADER_OLD_REAL
