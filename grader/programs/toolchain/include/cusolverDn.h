// cuSOLVER's dense factorisations, every call with its place to be told of; work areas are of one number.
#pragma once
#include "cusolver_common.h"
struct cusolverDnContext;
typedef cusolverDnContext *cusolverDnHandle_t;
struct cusolverDnParams { int unused; };
typedef cusolverDnParams *cusolverDnParams_t;
// residual, done: what came of it.
struct grader_jacobi { double tolerance; int sweeps, sorted; double residual; int done; };
typedef grader_jacobi *syevjInfo_t;
typedef grader_jacobi *gesvdjInfo_t;
enum cusolverDnFunction_t { CUSOLVERDN_GETRF = 0, CUSOLVERDN_POTRF = 1 };

GRADER_IMPORT("cusolverDnCreate") cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t *handle, GRADER_PLACE);
GRADER_IMPORT("cusolverDnDestroy") cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle, GRADER_PLACE);
GRADER_IMPORT("cusolverDnSetStream") cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t stream, GRADER_PLACE);
inline cusolverStatus_t cusolverDnCreateParams(cusolverDnParams_t *p) { *p = new cusolverDnParams{0}; return CUSOLVER_STATUS_SUCCESS; }
inline cusolverStatus_t cusolverDnDestroyParams(cusolverDnParams_t p) { delete p; return CUSOLVER_STATUS_SUCCESS; }
// Which of two algorithms: the results are the same.
inline cusolverStatus_t cusolverDnSetAdvOptions(cusolverDnParams_t, cusolverDnFunction_t, cusolverAlgMode_t) { return CUSOLVER_STATUS_SUCCESS; }
#define GRADER_JACOBI(name, Name) \
    inline cusolverStatus_t cusolverDnCreate##Name##Info(name##Info_t *info) { *info = new grader_jacobi{1e-12, 100, 1, 0, 0}; return CUSOLVER_STATUS_SUCCESS; } \
    inline cusolverStatus_t cusolverDnDestroy##Name##Info(name##Info_t info) { delete info; return CUSOLVER_STATUS_SUCCESS; } \
    inline cusolverStatus_t cusolverDnX##name##SetTolerance(name##Info_t info, double tolerance) { info->tolerance = tolerance; return CUSOLVER_STATUS_SUCCESS; } \
    inline cusolverStatus_t cusolverDnX##name##SetMaxSweeps(name##Info_t info, int sweeps) { info->sweeps = sweeps; return CUSOLVER_STATUS_SUCCESS; } \
    inline cusolverStatus_t cusolverDnX##name##SetSortEig(name##Info_t info, int sorted) { info->sorted = sorted; return CUSOLVER_STATUS_SUCCESS; } \
    GRADER_IMPORT("cusolverDnXResidual") cusolverStatus_t cusolverDnX##name##GetResidual(cusolverDnHandle_t handle, name##Info_t info, double *residual, GRADER_PLACE); \
    GRADER_IMPORT("cusolverDnXSweeps") cusolverStatus_t cusolverDnX##name##GetSweeps(cusolverDnHandle_t handle, name##Info_t info, int *sweeps, GRADER_PLACE);
GRADER_JACOBI(syevj, Syevj)
GRADER_JACOBI(gesvdj, Gesvdj)
#undef GRADER_JACOBI

#define GRADER_SOLVER(name, ...) GRADER_IMPORT(#name) cusolverStatus_t name(cusolverDnHandle_t handle, __VA_ARGS__, GRADER_PLACE);
// Asked how large a work area has to be: a number is enough.
#define GRADER_WORK(name, ...) inline cusolverStatus_t name(cusolverDnHandle_t, __VA_ARGS__, int *size) { *size = 1; return CUSOLVER_STATUS_SUCCESS; }
#define GRADER_SOLVER_OF(L, T, R, OR, SY) \
    GRADER_WORK(cusolverDn##L##potrf_bufferSize, cublasFillMode_t, int, T *, int) \
    GRADER_SOLVER(cusolverDn##L##potrf, cublasFillMode_t fill, int n, T *a, int lda, T *work, int size, int *info) \
    GRADER_SOLVER(cusolverDn##L##potrs, cublasFillMode_t fill, int n, int columns, const T *a, int lda, T *b, int ldb, int *info) \
    GRADER_WORK(cusolverDn##L##potri_bufferSize, cublasFillMode_t, int, T *, int) \
    GRADER_SOLVER(cusolverDn##L##potri, cublasFillMode_t fill, int n, T *a, int lda, T *work, int size, int *info) \
    GRADER_WORK(cusolverDn##L##getrf_bufferSize, int, int, T *, int) \
    GRADER_SOLVER(cusolverDn##L##getrf, int m, int n, T *a, int lda, T *work, int *pivots, int *info) \
    GRADER_SOLVER(cusolverDn##L##getrs, cublasOperation_t t, int n, int columns, const T *a, int lda, const int *pivots, T *b, int ldb, int *info) \
    GRADER_WORK(cusolverDn##L##geqrf_bufferSize, int, int, T *, int) \
    GRADER_SOLVER(cusolverDn##L##geqrf, int m, int n, T *a, int lda, T *factors, T *work, int size, int *info) \
    GRADER_WORK(cusolverDn##L##OR##mqr_bufferSize, cublasSideMode_t, cublasOperation_t, int, int, int, const T *, int, const T *, const T *, int) \
    GRADER_SOLVER(cusolverDn##L##OR##mqr, cublasSideMode_t side, cublasOperation_t t, int m, int n, int k, const T *a, int lda, const T *factors, T *c, int ldc, T *work, int size, int *info) \
    GRADER_WORK(cusolverDn##L##OR##gqr_bufferSize, int, int, int, const T *, int, const T *) \
    GRADER_SOLVER(cusolverDn##L##OR##gqr, int m, int n, int k, T *a, int lda, const T *factors, T *work, int size, int *info) \
    GRADER_WORK(cusolverDn##L##SY##evd_bufferSize, cusolverEigMode_t, cublasFillMode_t, int, const T *, int, const R *) \
    GRADER_SOLVER(cusolverDn##L##SY##evd, cusolverEigMode_t vectors, cublasFillMode_t fill, int n, T *a, int lda, R *w, T *work, int size, int *info) \
    inline cusolverStatus_t cusolverDn##L##SY##evj_bufferSize(cusolverDnHandle_t, cusolverEigMode_t, cublasFillMode_t, int, const T *, int, const R *, int *size, syevjInfo_t) { *size = 1; return CUSOLVER_STATUS_SUCCESS; } \
    GRADER_SOLVER(cusolverDn##L##SY##evj, cusolverEigMode_t vectors, cublasFillMode_t fill, int n, T *a, int lda, R *w, T *work, int size, int *info, syevjInfo_t settings) \
    GRADER_WORK(cusolverDn##L##SY##gvd_bufferSize, cusolverEigType_t, cusolverEigMode_t, cublasFillMode_t, int, const T *, int, const T *, int, const R *) \
    GRADER_SOLVER(cusolverDn##L##SY##gvd, cusolverEigType_t kind, cusolverEigMode_t vectors, cublasFillMode_t fill, int n, T *a, int lda, T *b, int ldb, R *w, T *work, int size, int *info) \
    inline cusolverStatus_t cusolverDn##L##gesvd_bufferSize(cusolverDnHandle_t, int, int, int *size) { *size = 1; return CUSOLVER_STATUS_SUCCESS; } \
    GRADER_SOLVER(cusolverDn##L##gesvd, signed char jobu, signed char jobv, int m, int n, T *a, int lda, R *s, T *u, int ldu, T *v, int ldv, T *work, int size, R *rwork, int *info) \
    inline cusolverStatus_t cusolverDn##L##gesvdj_bufferSize(cusolverDnHandle_t, cusolverEigMode_t, int, int, int, const T *, int, const R *, const T *, int, const T *, int, int *size, gesvdjInfo_t) { *size = 1; return CUSOLVER_STATUS_SUCCESS; } \
    GRADER_SOLVER(cusolverDn##L##gesvdj, cusolverEigMode_t vectors, int economy, int m, int n, T *a, int lda, R *s, T *u, int ldu, T *v, int ldv, T *work, int size, int *info, gesvdjInfo_t settings) \
    GRADER_SOLVER(cusolverDn##L##potrfBatched, cublasFillMode_t fill, int n, T *a[], int lda, int *infos, int count) \
    GRADER_SOLVER(cusolverDn##L##potrsBatched, cublasFillMode_t fill, int n, int columns, T *a[], int lda, T *b[], int ldb, int *info, int count) \
    inline cusolverStatus_t cusolverDn##L##gesvdjBatched_bufferSize(cusolverDnHandle_t, cusolverEigMode_t, int, int, const T *, int, const R *, const T *, int, const T *, int, int *size, gesvdjInfo_t, int) { *size = 1; return CUSOLVER_STATUS_SUCCESS; } \
    GRADER_SOLVER(cusolverDn##L##gesvdjBatched, cusolverEigMode_t vectors, int m, int n, T *a, int lda, R *s, T *u, int ldu, T *v, int ldv, T *work, int size, int *infos, gesvdjInfo_t settings, int count) \
    inline cusolverStatus_t cusolverDn##L##gesvdaStridedBatched_bufferSize(cusolverDnHandle_t, cusolverEigMode_t, int, int, int, const T *, int, long long, const R *, long long, const T *, int, long long, const T *, int, long long, int *size, int) { *size = 1; return CUSOLVER_STATUS_SUCCESS; } \
    GRADER_SOLVER(cusolverDn##L##gesvdaStridedBatched, cusolverEigMode_t vectors, int rank, int m, int n, const T *a, int lda, long long sa, R *s, long long ss, T *u, int ldu, long long su, T *v, int ldv, long long sv, T *work, int size, int *infos, double *residuals, int count) \
    inline cusolverStatus_t cusolverDn##L##SY##evjBatched_bufferSize(cusolverDnHandle_t, cusolverEigMode_t, cublasFillMode_t, int, const T *, int, const R *, int *size, syevjInfo_t, int) { *size = 1; return CUSOLVER_STATUS_SUCCESS; } \
    GRADER_SOLVER(cusolverDn##L##SY##evjBatched, cusolverEigMode_t vectors, cublasFillMode_t fill, int n, T *a, int lda, R *w, T *work, int size, int *infos, syevjInfo_t settings, int count) \
    inline cusolverStatus_t cusolverDn##L##SY##gvj_bufferSize(cusolverDnHandle_t, cusolverEigType_t, cusolverEigMode_t, cublasFillMode_t, int, const T *, int, const T *, int, const R *, int *size, syevjInfo_t) { *size = 1; return CUSOLVER_STATUS_SUCCESS; } \
    GRADER_SOLVER(cusolverDn##L##SY##gvj, cusolverEigType_t kind, cusolverEigMode_t vectors, cublasFillMode_t fill, int n, T *a, int lda, T *b, int ldb, R *w, T *work, int size, int *info, syevjInfo_t settings) \
    GRADER_WORK(cusolverDn##L##SY##evdx_bufferSize, cusolverEigMode_t, cusolverEigRange_t, cublasFillMode_t, int, const T *, int, R, R, int, int, int *, const R *) \
    GRADER_SOLVER(cusolverDn##L##SY##evdx, cusolverEigMode_t vectors, cusolverEigRange_t range, cublasFillMode_t fill, int n, T *a, int lda, R low, R high, int first, int last, int *count, R *w, T *work, int size, int *info) \
    GRADER_WORK(cusolverDn##L##SY##gvdx_bufferSize, cusolverEigType_t, cusolverEigMode_t, cusolverEigRange_t, cublasFillMode_t, int, const T *, int, const T *, int, R, R, int, int, int *, const R *) \
    GRADER_SOLVER(cusolverDn##L##SY##gvdx, cusolverEigType_t kind, cusolverEigMode_t vectors, cusolverEigRange_t range, cublasFillMode_t fill, int n, T *a, int lda, T *b, int ldb, R low, R high, int first, int last, int *count, R *w, T *work, int size, int *info)
GRADER_SOLVER_OF(S, float, float, or, sy)
GRADER_SOLVER_OF(D, double, double, or, sy)
GRADER_SOLVER_OF(C, cuComplex, float, un, he)
GRADER_SOLVER_OF(Z, cuDoubleComplex, double, un, he)
#undef GRADER_WORK
// The same for calls that are told the types.
#define GRADER_WORK(name, ...) inline cusolverStatus_t name(cusolverDnHandle_t, cusolverDnParams_t, __VA_ARGS__, size_t *device_bytes, size_t *host_bytes) { *device_bytes = *host_bytes = 16; return CUSOLVER_STATUS_SUCCESS; }
#define GRADER_AREAS cudaDataType compute, void *work, size_t bytes, void *host, size_t host_bytes, int *info
GRADER_WORK(cusolverDnXpotrf_bufferSize, cublasFillMode_t, int64_t, cudaDataType, const void *, int64_t, cudaDataType)
GRADER_SOLVER(cusolverDnXpotrf, cusolverDnParams_t params, cublasFillMode_t fill, int64_t n, cudaDataType a_type, void *a, int64_t lda, GRADER_AREAS)
GRADER_SOLVER(cusolverDnXpotrs, cusolverDnParams_t params, cublasFillMode_t fill, int64_t n, int64_t columns, cudaDataType a_type, const void *a, int64_t lda, cudaDataType b_type, void *b, int64_t ldb, int *info)
GRADER_WORK(cusolverDnXgetrf_bufferSize, int64_t, int64_t, cudaDataType, const void *, int64_t, cudaDataType)
GRADER_SOLVER(cusolverDnXgetrf, cusolverDnParams_t params, int64_t m, int64_t n, cudaDataType a_type, void *a, int64_t lda, int64_t *pivots, GRADER_AREAS)
GRADER_SOLVER(cusolverDnXgetrs, cusolverDnParams_t params, cublasOperation_t t, int64_t n, int64_t columns, cudaDataType a_type, const void *a, int64_t lda, const int64_t *pivots, cudaDataType b_type, void *b, int64_t ldb, int *info)
GRADER_WORK(cusolverDnXgeqrf_bufferSize, int64_t, int64_t, cudaDataType, const void *, int64_t, cudaDataType, const void *, cudaDataType)
GRADER_SOLVER(cusolverDnXgeqrf, cusolverDnParams_t params, int64_t m, int64_t n, cudaDataType a_type, void *a, int64_t lda, cudaDataType factors_type, void *factors, GRADER_AREAS)
GRADER_WORK(cusolverDnXsyevd_bufferSize, cusolverEigMode_t, cublasFillMode_t, int64_t, cudaDataType, const void *, int64_t, cudaDataType, const void *, cudaDataType)
GRADER_SOLVER(cusolverDnXsyevd, cusolverDnParams_t params, cusolverEigMode_t vectors, cublasFillMode_t fill, int64_t n, cudaDataType a_type, void *a, int64_t lda, cudaDataType w_type, void *w, GRADER_AREAS)
GRADER_WORK(cusolverDnXsyevdx_bufferSize, cusolverEigMode_t, cusolverEigRange_t, cublasFillMode_t, int64_t, cudaDataType, const void *, int64_t, void *, void *, int64_t, int64_t, int64_t *, cudaDataType, const void *, cudaDataType)
GRADER_SOLVER(cusolverDnXsyevdx, cusolverDnParams_t params, cusolverEigMode_t vectors, cusolverEigRange_t range, cublasFillMode_t fill, int64_t n, cudaDataType a_type, void *a, int64_t lda, void *low, void *high, int64_t first, int64_t last, int64_t *count, cudaDataType w_type, void *w, GRADER_AREAS)
GRADER_WORK(cusolverDnXgesvd_bufferSize, signed char, signed char, int64_t, int64_t, cudaDataType, const void *, int64_t, cudaDataType, const void *, cudaDataType, const void *, int64_t, cudaDataType, const void *, int64_t, cudaDataType)
GRADER_SOLVER(cusolverDnXgesvd, cusolverDnParams_t params, signed char jobu, signed char jobv, int64_t m, int64_t n, cudaDataType a_type, void *a, int64_t lda, cudaDataType s_type, void *s, cudaDataType u_type, void *u, int64_t ldu, cudaDataType v_type, void *v, int64_t ldv, GRADER_AREAS)
GRADER_WORK(cusolverDnXgesvdp_bufferSize, cusolverEigMode_t, int, int64_t, int64_t, cudaDataType, const void *, int64_t, cudaDataType, const void *, cudaDataType, const void *, int64_t, cudaDataType, const void *, int64_t, cudaDataType)
GRADER_SOLVER(cusolverDnXgesvdp, cusolverDnParams_t params, cusolverEigMode_t vectors, int economy, int64_t m, int64_t n, cudaDataType a_type, void *a, int64_t lda, cudaDataType s_type, void *s, cudaDataType u_type, void *u, int64_t ldu, cudaDataType v_type, void *v, int64_t ldv, GRADER_AREAS, double *error)
GRADER_WORK(cusolverDnXgesvdr_bufferSize, signed char, signed char, int64_t, int64_t, int64_t, int64_t, int64_t, cudaDataType, const void *, int64_t, cudaDataType, const void *, cudaDataType, const void *, int64_t, cudaDataType, const void *, int64_t, cudaDataType)
GRADER_SOLVER(cusolverDnXgesvdr, cusolverDnParams_t params, signed char jobu, signed char jobv, int64_t m, int64_t n, int64_t k, int64_t p, int64_t iterations, cudaDataType a_type, void *a, int64_t lda, cudaDataType s_type, void *s, cudaDataType u_type, void *u, int64_t ldu, cudaDataType v_type, void *v, int64_t ldv, GRADER_AREAS)
GRADER_WORK(cusolverDnXgeev_bufferSize, cusolverEigMode_t, cusolverEigMode_t, int64_t, cudaDataType, const void *, int64_t, cudaDataType, const void *, cudaDataType, const void *, int64_t, cudaDataType, const void *, int64_t, cudaDataType)
GRADER_SOLVER(cusolverDnXgeev, cusolverDnParams_t params, cusolverEigMode_t left, cusolverEigMode_t right, int64_t n, cudaDataType a_type, void *a, int64_t lda, cudaDataType w_type, void *w, cudaDataType l_type, void *vl, int64_t ldvl, cudaDataType r_type, void *vr, int64_t ldvr, GRADER_AREAS)
inline cusolverStatus_t cusolverDnXtrtri_bufferSize(cusolverDnHandle_t, cublasFillMode_t, cublasDiagType_t, int64_t, cudaDataType, void *, int64_t, size_t *device_bytes, size_t *host_bytes) { *device_bytes = *host_bytes = 16; return CUSOLVER_STATUS_SUCCESS; }
GRADER_SOLVER(cusolverDnXtrtri, cublasFillMode_t fill, cublasDiagType_t diagonal, int64_t n, cudaDataType type, void *a, int64_t lda, void *work, size_t bytes, void *host, size_t host_bytes, int *info)
#undef GRADER_AREAS
#undef GRADER_WORK
#undef GRADER_SOLVER
#undef GRADER_SOLVER_OF
// Solutions by factors in lower precision, refined: by names of both types, and by settings, which lie with the host.
GRADER_IMPORT("cusolverDnRefined") cusolverStatus_t grader_cusolverDnRefined(cusolverDnHandle_t handle, int main, int lowest, int most, int64_t m, int64_t n, int64_t columns, void *a, int64_t lda, void *b, int64_t ldb, void *x, int64_t ldx, int *steps, int *info, int line, const char *file);
struct cusolverDnIRSParams { cusolverIRSRefinement_t refinement; cusolverPrecType_t main, lowest; double tolerance, inner; cusolver_int_t most, most_inner; int falls_back; };
struct cusolverDnIRSInfos { cusolver_int_t steps, most; int wants_residuals; };
typedef cusolverDnIRSParams *cusolverDnIRSParams_t;
typedef cusolverDnIRSInfos *cusolverDnIRSInfos_t;
#define GRADER_SETS(name, parameters, ...) inline cusolverStatus_t cusolverDnIRSParams##name parameters { __VA_ARGS__; return CUSOLVER_STATUS_SUCCESS; }
GRADER_SETS(Create, (cusolverDnIRSParams_t *p), *p = new cusolverDnIRSParams{CUSOLVER_IRS_REFINE_NOT_SET, CUSOLVER_R_64F, CUSOLVER_R_64F, 0, 0, 50, 50, 1})
GRADER_SETS(Destroy, (cusolverDnIRSParams_t p), delete p)
GRADER_SETS(SetRefinementSolver, (cusolverDnIRSParams_t p, cusolverIRSRefinement_t refinement), p->refinement = refinement)
GRADER_SETS(SetSolverMainPrecision, (cusolverDnIRSParams_t p, cusolverPrecType_t type), p->main = type)
GRADER_SETS(SetSolverLowestPrecision, (cusolverDnIRSParams_t p, cusolverPrecType_t type), p->lowest = type)
GRADER_SETS(SetSolverPrecisions, (cusolverDnIRSParams_t p, cusolverPrecType_t type, cusolverPrecType_t lowest), p->main = type; p->lowest = lowest)
GRADER_SETS(SetTol, (cusolverDnIRSParams_t p, double value), p->tolerance = value)
GRADER_SETS(SetTolInner, (cusolverDnIRSParams_t p, double value), p->inner = value)
GRADER_SETS(SetMaxIters, (cusolverDnIRSParams_t p, cusolver_int_t most), p->most = most)
GRADER_SETS(SetMaxItersInner, (cusolverDnIRSParams_t p, cusolver_int_t most), p->most_inner = most)
GRADER_SETS(GetMaxIters, (cusolverDnIRSParams_t p, cusolver_int_t *most), *most = p->most)
GRADER_SETS(EnableFallback, (cusolverDnIRSParams_t p), p->falls_back = 1)
GRADER_SETS(DisableFallback, (cusolverDnIRSParams_t p), p->falls_back = 0)
#undef GRADER_SETS
inline cusolverStatus_t cusolverDnIRSInfosCreate(cusolverDnIRSInfos_t *p) { *p = new cusolverDnIRSInfos{0, 50, 0}; return CUSOLVER_STATUS_SUCCESS; }
inline cusolverStatus_t cusolverDnIRSInfosDestroy(cusolverDnIRSInfos_t p) { delete p; return CUSOLVER_STATUS_SUCCESS; }
inline cusolverStatus_t cusolverDnIRSInfosGetNiters(cusolverDnIRSInfos_t p, cusolver_int_t *steps) { *steps = p->steps; return CUSOLVER_STATUS_SUCCESS; }
inline cusolverStatus_t cusolverDnIRSInfosGetOuterNiters(cusolverDnIRSInfos_t p, cusolver_int_t *steps) { *steps = p->steps; return CUSOLVER_STATUS_SUCCESS; }
inline cusolverStatus_t cusolverDnIRSInfosGetMaxIters(cusolverDnIRSInfos_t p, cusolver_int_t *most) { *most = p->most; return CUSOLVER_STATUS_SUCCESS; }
inline cusolverStatus_t cusolverDnIRSXgesv_bufferSize(cusolverDnHandle_t, cusolverDnIRSParams_t, cusolver_int_t, cusolver_int_t, size_t *bytes) { *bytes = 16; return CUSOLVER_STATUS_SUCCESS; }
inline cusolverStatus_t cusolverDnIRSXgels_bufferSize(cusolverDnHandle_t, cusolverDnIRSParams_t, cusolver_int_t, cusolver_int_t, cusolver_int_t, size_t *bytes) { *bytes = 16; return CUSOLVER_STATUS_SUCCESS; }
inline cusolverStatus_t cusolverDnIRSXgels(cusolverDnHandle_t handle, cusolverDnIRSParams_t p, cusolverDnIRSInfos_t told, cusolver_int_t m, cusolver_int_t n, cusolver_int_t columns, void *a, cusolver_int_t lda, void *b, cusolver_int_t ldb, void *x, cusolver_int_t ldx, void *, size_t, cusolver_int_t *steps, cusolver_int_t *info) {
    cusolverStatus_t status = grader_cusolverDnRefined(handle, p->main, p->lowest, p->most, m, n, columns, a, lda, b, ldb, x, ldx, steps, info, __builtin_LINE(), __builtin_FILE());
    told->steps = *steps;
    told->most = p->most;
    return status;
}
inline cusolverStatus_t cusolverDnIRSXgesv(cusolverDnHandle_t handle, cusolverDnIRSParams_t p, cusolverDnIRSInfos_t told, cusolver_int_t n, cusolver_int_t columns, void *a, cusolver_int_t lda, void *b, cusolver_int_t ldb, void *x, cusolver_int_t ldx, void *work, size_t bytes, cusolver_int_t *steps, cusolver_int_t *info) {
    return cusolverDnIRSXgels(handle, p, told, n, n, columns, a, lda, b, ldb, x, ldx, work, bytes, steps, info);
}
// Programs take their addresses, so these have no parameter for the place of a call.
#define GRADER_REFINED(two, T, main, lowest) \
    inline cusolverStatus_t cusolverDn##two##gesv_bufferSize(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, T *, cusolver_int_t, cusolver_int_t *, T *, cusolver_int_t, T *, cusolver_int_t, void *, size_t *bytes) { *bytes = 16; return CUSOLVER_STATUS_SUCCESS; } \
    inline cusolverStatus_t cusolverDn##two##gesv(cusolverDnHandle_t handle, cusolver_int_t n, cusolver_int_t columns, T *a, cusolver_int_t lda, cusolver_int_t *, T *b, cusolver_int_t ldb, T *x, cusolver_int_t ldx, void *, size_t, cusolver_int_t *steps, cusolver_int_t *info) { return grader_cusolverDnRefined(handle, main, lowest, 50, n, n, columns, a, lda, b, ldb, x, ldx, steps, info, __builtin_LINE(), __builtin_FILE()); } \
    inline cusolverStatus_t cusolverDn##two##gels_bufferSize(cusolverDnHandle_t, cusolver_int_t, cusolver_int_t, cusolver_int_t, T *, cusolver_int_t, T *, cusolver_int_t, T *, cusolver_int_t, void *, size_t *bytes) { *bytes = 16; return CUSOLVER_STATUS_SUCCESS; } \
    inline cusolverStatus_t cusolverDn##two##gels(cusolverDnHandle_t handle, cusolver_int_t m, cusolver_int_t n, cusolver_int_t columns, T *a, cusolver_int_t lda, T *b, cusolver_int_t ldb, T *x, cusolver_int_t ldx, void *, size_t, cusolver_int_t *steps, cusolver_int_t *info) { return grader_cusolverDnRefined(handle, main, lowest, 50, m, n, columns, a, lda, b, ldb, x, ldx, steps, info, __builtin_LINE(), __builtin_FILE()); }
GRADER_REFINED(DD, double, CUSOLVER_R_64F, CUSOLVER_R_64F) GRADER_REFINED(DS, double, CUSOLVER_R_64F, CUSOLVER_R_32F) GRADER_REFINED(DH, double, CUSOLVER_R_64F, CUSOLVER_R_16F)
GRADER_REFINED(DB, double, CUSOLVER_R_64F, CUSOLVER_R_16BF) GRADER_REFINED(DX, double, CUSOLVER_R_64F, CUSOLVER_R_TF32) GRADER_REFINED(SS, float, CUSOLVER_R_32F, CUSOLVER_R_32F)
GRADER_REFINED(SH, float, CUSOLVER_R_32F, CUSOLVER_R_16F) GRADER_REFINED(SB, float, CUSOLVER_R_32F, CUSOLVER_R_16BF) GRADER_REFINED(SX, float, CUSOLVER_R_32F, CUSOLVER_R_TF32)
GRADER_REFINED(ZZ, cuDoubleComplex, CUSOLVER_C_64F, CUSOLVER_C_64F) GRADER_REFINED(ZC, cuDoubleComplex, CUSOLVER_C_64F, CUSOLVER_C_32F) GRADER_REFINED(ZK, cuDoubleComplex, CUSOLVER_C_64F, CUSOLVER_C_16F)
GRADER_REFINED(ZE, cuDoubleComplex, CUSOLVER_C_64F, CUSOLVER_C_16BF) GRADER_REFINED(ZY, cuDoubleComplex, CUSOLVER_C_64F, CUSOLVER_C_TF32) GRADER_REFINED(CC, cuComplex, CUSOLVER_C_32F, CUSOLVER_C_32F)
GRADER_REFINED(CK, cuComplex, CUSOLVER_C_32F, CUSOLVER_C_16F) GRADER_REFINED(CE, cuComplex, CUSOLVER_C_32F, CUSOLVER_C_16BF) GRADER_REFINED(CY, cuComplex, CUSOLVER_C_32F, CUSOLVER_C_TF32)
#undef GRADER_REFINED
