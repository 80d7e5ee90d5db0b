// cuSOLVER's sparse half: systems solved, on the device's memory or the host's, and orders of rows.
#pragma once
#include "cusolver_common.h"
#include "cusparse.h"
struct cusolverSpContext;
typedef cusolverSpContext *cusolverSpHandle_t;
struct csrqrInfo { int unused; };
typedef csrqrInfo *csrqrInfo_t;
GRADER_IMPORT("cusolverSpCreate") cusolverStatus_t cusolverSpCreate(cusolverSpHandle_t *handle, GRADER_PLACE);
GRADER_IMPORT("cusolverSpDestroy") cusolverStatus_t cusolverSpDestroy(cusolverSpHandle_t handle, GRADER_PLACE);
GRADER_IMPORT("cusolverSpSetStream") cusolverStatus_t cusolverSpSetStream(cusolverSpHandle_t handle, cudaStream_t stream, GRADER_PLACE);
#define GRADER_SYSTEM(name, import, T, R) \
    GRADER_IMPORT(import) cusolverStatus_t grader_##name(cusolverSpHandle_t handle, int m, int count, int base, const T *values, const int *offsets, const int *columns, const T *b, R tolerance, int reorder, T *x, int *singularity, int line, const char *file); \
    inline cusolverStatus_t name(cusolverSpHandle_t handle, int m, int count, const cusparseMatDescr *matrix, const T *values, const int *offsets, const int *columns, const T *b, R tolerance, int reorder, T *x, int *singularity, GRADER_PLACE) { return grader_##name(handle, m, count, matrix->base, values, offsets, columns, b, tolerance, reorder, x, singularity, GRADER_HERE); }
#define GRADER_SYSTEMS(L, T, R) \
    GRADER_SYSTEM(cusolverSp##L##csrlsvqr, "cusolverSp" #L "csrlsv", T, R) \
    GRADER_SYSTEM(cusolverSp##L##csrlsvqrHost, "cusolverSp" #L "csrlsvHost", T, R) \
    GRADER_SYSTEM(cusolverSp##L##csrlsvluHost, "cusolverSp" #L "csrlsvHost", T, R) \
    GRADER_SYSTEM(cusolverSp##L##csrlsvchol, "cusolverSp" #L "csrlsvchol", T, R) \
    GRADER_SYSTEM(cusolverSp##L##csrlsvcholHost, "cusolverSp" #L "csrlsvcholHost", T, R) \
    GRADER_IMPORT("cusolverSp" #L "csrqrsvBatched") cusolverStatus_t grader_cusolverSp##L##csrqrsvBatched(cusolverSpHandle_t handle, int m, int n, int count, int base, const T *values, const int *offsets, const int *columns, const T *b, T *x, int batches, int line, const char *file); \
    inline cusolverStatus_t cusolverSp##L##csrqrsvBatched(cusolverSpHandle_t handle, int m, int n, int count, const cusparseMatDescr *matrix, const T *values, const int *offsets, const int *columns, const T *b, T *x, int batches, csrqrInfo_t, void *, GRADER_PLACE) { return grader_cusolverSp##L##csrqrsvBatched(handle, m, n, count, matrix->base, values, offsets, columns, b, x, batches, GRADER_HERE); } \
    inline cusolverStatus_t cusolverSp##L##csrqrBufferInfoBatched(cusolverSpHandle_t, int, int, int, const cusparseMatDescr *, const T *, const int *, const int *, int, csrqrInfo_t, size_t *internal_bytes, size_t *bytes) { *internal_bytes = *bytes = 16; return CUSOLVER_STATUS_SUCCESS; }
GRADER_SYSTEMS(S, float, float) GRADER_SYSTEMS(D, double, double) GRADER_SYSTEMS(C, cuComplex, float) GRADER_SYSTEMS(Z, cuDoubleComplex, double)
#undef GRADER_SYSTEMS
#undef GRADER_SYSTEM
inline cusolverStatus_t cusolverSpCreateCsrqrInfo(csrqrInfo_t *info) { *info = new csrqrInfo{0}; return CUSOLVER_STATUS_SUCCESS; }
inline cusolverStatus_t cusolverSpDestroyCsrqrInfo(csrqrInfo_t info) { delete info; return CUSOLVER_STATUS_SUCCESS; }
inline cusolverStatus_t cusolverSpXcsrqrAnalysisBatched(cusolverSpHandle_t, int, int, int, const cusparseMatDescr *, const int *, const int *, csrqrInfo_t) { return CUSOLVER_STATUS_SUCCESS; }
GRADER_IMPORT("cusolverSpOrder") cusolverStatus_t grader_cusolverSpOrder(cusolverSpHandle_t handle, int m, int count, int base, const int *offsets, const int *columns, int *into, int line, const char *file);
inline cusolverStatus_t cusolverSpXcsrsymrcmHost(cusolverSpHandle_t handle, int m, int count, const cusparseMatDescr *matrix, const int *offsets, const int *columns, int *into, GRADER_PLACE) { return grader_cusolverSpOrder(handle, m, count, matrix->base, offsets, columns, into, GRADER_HERE); }
inline cusolverStatus_t cusolverSpXcsrsymamdHost(cusolverSpHandle_t handle, int m, int count, const cusparseMatDescr *matrix, const int *offsets, const int *columns, int *into, GRADER_PLACE) { return grader_cusolverSpOrder(handle, m, count, matrix->base, offsets, columns, into, GRADER_HERE); }
inline cusolverStatus_t cusolverSpXcsrsymmdqHost(cusolverSpHandle_t handle, int m, int count, const cusparseMatDescr *matrix, const int *offsets, const int *columns, int *into, GRADER_PLACE) { return grader_cusolverSpOrder(handle, m, count, matrix->base, offsets, columns, into, GRADER_HERE); }
inline cusolverStatus_t cusolverSpXcsrmetisndHost(cusolverSpHandle_t handle, int m, int count, const cusparseMatDescr *matrix, const int *offsets, const int *columns, const int64_t *, int *into, GRADER_PLACE) { return grader_cusolverSpOrder(handle, m, count, matrix->base, offsets, columns, into, GRADER_HERE); }
inline cusolverStatus_t cusolverSpXcsrperm_bufferSizeHost(cusolverSpHandle_t, int, int, int, const cusparseMatDescr *, const int *, const int *, const int *, const int *, size_t *bytes) { *bytes = 16; return CUSOLVER_STATUS_SUCCESS; }
GRADER_IMPORT("cusolverSpPermute") cusolverStatus_t grader_cusolverSpPermute(cusolverSpHandle_t handle, int m, int n, int count, int base, int *offsets, int *columns, const int *p, const int *q, int *values, void *buffer, int line, const char *file);
inline cusolverStatus_t cusolverSpXcsrpermHost(cusolverSpHandle_t handle, int m, int n, int count, const cusparseMatDescr *matrix, int *offsets, int *columns, const int *p, const int *q, int *values, void *buffer, GRADER_PLACE) { return grader_cusolverSpPermute(handle, m, n, count, matrix->base, offsets, columns, p, q, values, buffer, GRADER_HERE); }
GRADER_IMPORT("cusolverSpIsSymmetric") cusolverStatus_t grader_cusolverSpIsSymmetric(cusolverSpHandle_t handle, int m, int count, int base, const int *offsets, const int *ends, const int *columns, int *is, int line, const char *file);
inline cusolverStatus_t cusolverSpXcsrissymHost(cusolverSpHandle_t handle, int m, int count, const cusparseMatDescr *matrix, const int *offsets, const int *ends, const int *columns, int *is, GRADER_PLACE) { return grader_cusolverSpIsSymmetric(handle, m, count, matrix->base, offsets, ends, columns, is, GRADER_HERE); }
