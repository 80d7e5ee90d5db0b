// cuBLASXt, whose matrices lie with the host: each call takes them to the device and brings the result back.
#pragma once
#include "cublas_v2.h"
struct cublasXtContext { cublasHandle_t handle; int block; };
typedef cublasXtContext *cublasXtHandle_t;
enum cublasXtPinnedMemMode_t { CUBLASXT_PINNING_DISABLED = 0, CUBLASXT_PINNING_ENABLED = 1 };
enum cublasXtOpType_t { CUBLASXT_FLOAT = 0, CUBLASXT_DOUBLE = 1, CUBLASXT_COMPLEX = 2, CUBLASXT_DOUBLECOMPLEX = 3 };
enum cublasXtBlasOp_t { CUBLASXT_GEMM = 0, CUBLASXT_SYRK = 1, CUBLASXT_HERK = 2, CUBLASXT_SYMM = 3, CUBLASXT_HEMM = 4, CUBLASXT_TRSM = 5, CUBLASXT_SYR2K = 6, CUBLASXT_TRMM = 9 };
inline cublasStatus_t cublasXtCreate(cublasXtHandle_t *xt, GRADER_PLACE) {
    *xt = new cublasXtContext{nullptr, 2048};
    return cublasCreate(&(*xt)->handle, GRADER_HERE);
}
inline cublasStatus_t cublasXtDestroy(cublasXtHandle_t xt, GRADER_PLACE) {
    cublasStatus_t status = cublasDestroy(xt->handle, GRADER_HERE);
    delete xt;
    return status;
}
inline cublasStatus_t cublasXtMaxBoards(int *boards) { *boards = 2; return CUBLAS_STATUS_SUCCESS; }
inline cublasStatus_t cublasXtDeviceSelect(cublasXtHandle_t, int count, int devices[], GRADER_PLACE) {
    int there = 0;
    cudaGetDeviceCount(&there, GRADER_HERE);
    for (int i = 0; i < count; i++)
        if (devices[i] < 0 || devices[i] >= there) return CUBLAS_STATUS_INVALID_VALUE;
    return count > 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}
inline cublasStatus_t cublasXtSetBlockDim(cublasXtHandle_t xt, int block) {
    if (block <= 0) return CUBLAS_STATUS_INVALID_VALUE;
    xt->block = block;
    return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasXtGetBlockDim(cublasXtHandle_t xt, int *block) { *block = xt->block; return CUBLAS_STATUS_SUCCESS; }
// How it is done, not what comes of it.
inline cublasStatus_t cublasXtSetPinningMemMode(cublasXtHandle_t, cublasXtPinnedMemMode_t) { return CUBLAS_STATUS_SUCCESS; }
inline cublasStatus_t cublasXtSetCpuRoutine(cublasXtHandle_t, cublasXtBlasOp_t, cublasXtOpType_t, void *) { return CUBLAS_STATUS_SUCCESS; }
inline cublasStatus_t cublasXtSetCpuRatio(cublasXtHandle_t, cublasXtBlasOp_t, cublasXtOpType_t, float) { return CUBLAS_STATUS_SUCCESS; }
// A matrix of so many columns on the device, for one call.
template <class T> struct grader_xt_matrix {
    const T *host;
    T *device = nullptr;
    size_t bytes;
    cudaError_t status = cudaSuccess;
    grader_xt_matrix(const T *host, size_t leading, size_t columns, GRADER_PLACE) : host(host), bytes(leading * columns * sizeof(T)) {
        if (!bytes) return;
        status = cudaMalloc((void **)&device, bytes, GRADER_HERE);
        if (!status) status = cudaMemcpy(device, host, bytes, cudaMemcpyDefault, GRADER_HERE);
    }
    cublasStatus_t back(cublasStatus_t result, GRADER_PLACE) {
        if (!result && bytes) status = cudaMemcpy((void *)host, device, bytes, cudaMemcpyDefault, GRADER_HERE);
        return result ? result : status ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
    }
    ~grader_xt_matrix() { if (device) cudaFree(device); }
};
#define GRADER_XT(L, T) \
    inline cublasStatus_t cublasXt##L##gemm(cublasXtHandle_t xt, cublasOperation_t ta, cublasOperation_t tb, size_t m, size_t n, size_t k, const T *alpha, const T *a, size_t lda, const T *b, size_t ldb, const T *beta, T *c, size_t ldc, GRADER_PLACE) { \
        grader_xt_matrix<T> x(a, lda, ta == CUBLAS_OP_N ? k : m, GRADER_HERE), y(b, ldb, tb == CUBLAS_OP_N ? n : k, GRADER_HERE), z(c, ldc, n, GRADER_HERE); \
        if (x.status || y.status || z.status) return CUBLAS_STATUS_ALLOC_FAILED; \
        return z.back(cublas##L##gemm(xt->handle, ta, tb, m, n, k, alpha, x.device, lda, y.device, ldb, beta, z.device, ldc, GRADER_HERE), GRADER_HERE); \
    } \
    inline cublasStatus_t cublasXt##L##symm(cublasXtHandle_t xt, cublasSideMode_t side, cublasFillMode_t fill, size_t m, size_t n, const T *alpha, const T *a, size_t lda, const T *b, size_t ldb, const T *beta, T *c, size_t ldc, GRADER_PLACE) { \
        grader_xt_matrix<T> x(a, lda, side == CUBLAS_SIDE_LEFT ? m : n, GRADER_HERE), y(b, ldb, n, GRADER_HERE), z(c, ldc, n, GRADER_HERE); \
        if (x.status || y.status || z.status) return CUBLAS_STATUS_ALLOC_FAILED; \
        return z.back(cublas##L##symm(xt->handle, side, fill, m, n, alpha, x.device, lda, y.device, ldb, beta, z.device, ldc, GRADER_HERE), GRADER_HERE); \
    } \
    inline cublasStatus_t cublasXt##L##syrk(cublasXtHandle_t xt, cublasFillMode_t fill, cublasOperation_t t, size_t n, size_t k, const T *alpha, const T *a, size_t lda, const T *beta, T *c, size_t ldc, GRADER_PLACE) { \
        grader_xt_matrix<T> x(a, lda, t == CUBLAS_OP_N ? k : n, GRADER_HERE), z(c, ldc, n, GRADER_HERE); \
        if (x.status || z.status) return CUBLAS_STATUS_ALLOC_FAILED; \
        return z.back(cublas##L##syrk(xt->handle, fill, t, n, k, alpha, x.device, lda, beta, z.device, ldc, GRADER_HERE), GRADER_HERE); \
    } \
    inline cublasStatus_t cublasXt##L##trsm(cublasXtHandle_t xt, cublasSideMode_t side, cublasFillMode_t fill, cublasOperation_t t, cublasDiagType_t unit, size_t m, size_t n, const T *alpha, const T *a, size_t lda, T *b, size_t ldb, GRADER_PLACE) { \
        grader_xt_matrix<T> x(a, lda, side == CUBLAS_SIDE_LEFT ? m : n, GRADER_HERE), z(b, ldb, n, GRADER_HERE); \
        if (x.status || z.status) return CUBLAS_STATUS_ALLOC_FAILED; \
        return z.back(cublas##L##trsm(xt->handle, side, fill, t, unit, m, n, alpha, x.device, lda, z.device, ldb, GRADER_HERE), GRADER_HERE); \
    }
GRADER_XT(S, float)
GRADER_XT(D, double)
GRADER_XT(C, cuComplex)
GRADER_XT(Z, cuDoubleComplex)
#undef GRADER_XT
