// cuSPARSE by descriptors, every call with its place to be told of; work areas need no room.
#pragma once
#define CUSPARSE_H_
#define CUSPARSEAPI
#include "cuda_runtime.h"
#include "cuComplex.h"
#include "library_types.h"
#include <stdint.h>
#define CUSPARSE_VER_MAJOR 12
#define CUSPARSE_VER_MINOR 6
#define CUSPARSE_VER_PATCH 0
#define CUSPARSE_VERSION 12600
struct cusparseContext;
typedef cusparseContext *cusparseHandle_t;
struct cusparseSpVecDescr;
struct cusparseDnVecDescr;
struct cusparseSpMatDescr;
struct cusparseDnMatDescr;
typedef cusparseSpVecDescr *cusparseSpVecDescr_t;
typedef cusparseDnVecDescr *cusparseDnVecDescr_t;
typedef cusparseSpMatDescr *cusparseSpMatDescr_t;
typedef cusparseDnMatDescr *cusparseDnMatDescr_t;
typedef const cusparseSpVecDescr *cusparseConstSpVecDescr_t;
typedef const cusparseDnVecDescr *cusparseConstDnVecDescr_t;
typedef const cusparseSpMatDescr *cusparseConstSpMatDescr_t;
typedef const cusparseDnMatDescr *cusparseConstDnMatDescr_t;
struct grader_sparse_settings { int unused; };
typedef grader_sparse_settings *cusparseSpSVDescr_t;
typedef grader_sparse_settings *cusparseSpSMDescr_t;
enum cusparseStatus_t {
    CUSPARSE_STATUS_SUCCESS = 0, CUSPARSE_STATUS_NOT_INITIALIZED = 1, CUSPARSE_STATUS_ALLOC_FAILED = 2,
    CUSPARSE_STATUS_INVALID_VALUE = 3, CUSPARSE_STATUS_ARCH_MISMATCH = 4, CUSPARSE_STATUS_MAPPING_ERROR = 5,
    CUSPARSE_STATUS_EXECUTION_FAILED = 6, CUSPARSE_STATUS_INTERNAL_ERROR = 7,
    CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED = 8, CUSPARSE_STATUS_ZERO_PIVOT = 9, CUSPARSE_STATUS_NOT_SUPPORTED = 10,
    CUSPARSE_STATUS_INSUFFICIENT_RESOURCES = 11
};
enum cusparsePointerMode_t { CUSPARSE_POINTER_MODE_HOST = 0, CUSPARSE_POINTER_MODE_DEVICE = 1 };
enum cusparseAction_t { CUSPARSE_ACTION_SYMBOLIC = 0, CUSPARSE_ACTION_NUMERIC = 1 };
enum cusparseFillMode_t { CUSPARSE_FILL_MODE_LOWER = 0, CUSPARSE_FILL_MODE_UPPER = 1 };
enum cusparseDiagType_t { CUSPARSE_DIAG_TYPE_NON_UNIT = 0, CUSPARSE_DIAG_TYPE_UNIT = 1 };
enum cusparseIndexBase_t { CUSPARSE_INDEX_BASE_ZERO = 0, CUSPARSE_INDEX_BASE_ONE = 1 };
enum cusparseOperation_t { CUSPARSE_OPERATION_NON_TRANSPOSE = 0, CUSPARSE_OPERATION_TRANSPOSE = 1, CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE = 2 };
enum cusparseIndexType_t { CUSPARSE_INDEX_16U = 1, CUSPARSE_INDEX_32I = 2, CUSPARSE_INDEX_64I = 3 };
enum cusparseOrder_t { CUSPARSE_ORDER_COL = 1, CUSPARSE_ORDER_ROW = 2 };
enum cusparseSpMatAttribute_t { CUSPARSE_SPMAT_FILL_MODE = 0, CUSPARSE_SPMAT_DIAG_TYPE = 1 };
enum cusparseSpMVAlg_t { CUSPARSE_SPMV_ALG_DEFAULT = 0, CUSPARSE_SPMV_CSR_ALG1 = 2, CUSPARSE_SPMV_CSR_ALG2 = 3, CUSPARSE_SPMV_COO_ALG1 = 1, CUSPARSE_SPMV_COO_ALG2 = 4, CUSPARSE_SPMV_SELL_ALG1 = 5 };
enum cusparseSpMMAlg_t {
    CUSPARSE_SPMM_ALG_DEFAULT = 0, CUSPARSE_SPMM_COO_ALG1 = 1, CUSPARSE_SPMM_COO_ALG2 = 2, CUSPARSE_SPMM_COO_ALG3 = 3,
    CUSPARSE_SPMM_COO_ALG4 = 5, CUSPARSE_SPMM_CSR_ALG1 = 4, CUSPARSE_SPMM_CSR_ALG2 = 6, CUSPARSE_SPMM_CSR_ALG3 = 12,
    CUSPARSE_SPMM_BLOCKED_ELL_ALG1 = 13, CUSPARSE_SPMM_BSR_ALG1 = 14
};
enum cusparseSpGEMMAlg_t {
    CUSPARSE_SPGEMM_DEFAULT = 0, CUSPARSE_SPGEMM_CSR_ALG_DETERMINITIC = 1, CUSPARSE_SPGEMM_CSR_ALG_DETERMINISTIC = 1, CUSPARSE_SPGEMM_CSR_ALG_NONDETERMINITIC = 2,
    CUSPARSE_SPGEMM_CSR_ALG_NONDETERMINISTIC = 2, CUSPARSE_SPGEMM_ALG1 = 3, CUSPARSE_SPGEMM_ALG2 = 4, CUSPARSE_SPGEMM_ALG3 = 5
};
struct cusparseSpGEMMDescr { int64_t products; };
typedef cusparseSpGEMMDescr *cusparseSpGEMMDescr_t;
enum cusparseSDDMMAlg_t { CUSPARSE_SDDMM_ALG_DEFAULT = 0 };
enum cusparseSpSVAlg_t { CUSPARSE_SPSV_ALG_DEFAULT = 0 };
enum cusparseSpSMAlg_t { CUSPARSE_SPSM_ALG_DEFAULT = 0 };
enum cusparseSparseToDenseAlg_t { CUSPARSE_SPARSETODENSE_ALG_DEFAULT = 0 };
enum cusparseDenseToSparseAlg_t { CUSPARSE_DENSETOSPARSE_ALG_DEFAULT = 0 };
enum cusparseCsr2CscAlg_t { CUSPARSE_CSR2CSC_ALG_DEFAULT = 1, CUSPARSE_CSR2CSC_ALG1 = 1 };
enum cusparseMatrixType_t {
    CUSPARSE_MATRIX_TYPE_GENERAL = 0, CUSPARSE_MATRIX_TYPE_SYMMETRIC = 1, CUSPARSE_MATRIX_TYPE_HERMITIAN = 2, CUSPARSE_MATRIX_TYPE_TRIANGULAR = 3
};
enum cusparseDirection_t { CUSPARSE_DIRECTION_ROW = 0, CUSPARSE_DIRECTION_COLUMN = 1 };
// What older calls are told of a matrix; it lies with the host.
struct cusparseMatDescr { cusparseMatrixType_t type; cusparseFillMode_t fill; cusparseDiagType_t diagonal; cusparseIndexBase_t base; };
typedef cusparseMatDescr *cusparseMatDescr_t;
inline cusparseStatus_t cusparseCreateMatDescr(cusparseMatDescr_t *d) { *d = new cusparseMatDescr(); return CUSPARSE_STATUS_SUCCESS; }
inline cusparseStatus_t cusparseDestroyMatDescr(cusparseMatDescr_t d) { delete d; return CUSPARSE_STATUS_SUCCESS; }
inline cusparseStatus_t cusparseSetMatType(cusparseMatDescr_t d, cusparseMatrixType_t type) { d->type = type; return CUSPARSE_STATUS_SUCCESS; }
inline cusparseStatus_t cusparseSetMatFillMode(cusparseMatDescr_t d, cusparseFillMode_t fill) { d->fill = fill; return CUSPARSE_STATUS_SUCCESS; }
inline cusparseStatus_t cusparseSetMatDiagType(cusparseMatDescr_t d, cusparseDiagType_t diagonal) { d->diagonal = diagonal; return CUSPARSE_STATUS_SUCCESS; }
inline cusparseStatus_t cusparseSetMatIndexBase(cusparseMatDescr_t d, cusparseIndexBase_t base) { d->base = base; return CUSPARSE_STATUS_SUCCESS; }
inline cusparseMatrixType_t cusparseGetMatType(const cusparseMatDescr *d) { return d->type; }
inline cusparseFillMode_t cusparseGetMatFillMode(const cusparseMatDescr *d) { return d->fill; }
inline cusparseDiagType_t cusparseGetMatDiagType(const cusparseMatDescr *d) { return d->diagonal; }
inline cusparseIndexBase_t cusparseGetMatIndexBase(const cusparseMatDescr *d) { return d->base; }

#define GRADER_SPARSE_(name, ...) GRADER_IMPORT(#name) cusparseStatus_t name(__VA_ARGS__, GRADER_PLACE);
#define GRADER_SPARSE(name, ...) GRADER_SPARSE_(name, cusparseHandle_t handle, __VA_ARGS__)
// Asked how large a work area has to be: any will do, and there are programs that refuse one of none.
#define GRADER_ROOM(name, ...) inline cusparseStatus_t name(cusparseHandle_t, __VA_ARGS__, size_t *bytes) { *bytes = 16; return CUSPARSE_STATUS_SUCCESS; }
// A step that prepares the next.
#define GRADER_READY(name, ...) inline cusparseStatus_t name(cusparseHandle_t, __VA_ARGS__) { return CUSPARSE_STATUS_SUCCESS; }
GRADER_SPARSE_(cusparseCreate, cusparseHandle_t *handle)
GRADER_SPARSE_(cusparseDestroy, cusparseHandle_t handle)
GRADER_SPARSE(cusparseSetStream, cudaStream_t stream)
GRADER_SPARSE(cusparseSetPointerMode, cusparsePointerMode_t mode)
GRADER_SPARSE(cusparseGetVersion, int *version)
#define GRADER_COMPRESSED void *offsets, void *indices, void *values, cusparseIndexType_t offset_type, cusparseIndexType_t index_type, cusparseIndexBase_t base, cudaDataType type
GRADER_SPARSE_(cusparseCreateCsr, cusparseSpMatDescr_t *matrix, int64_t rows, int64_t columns, int64_t count, GRADER_COMPRESSED)
GRADER_SPARSE_(cusparseCreateCsc, cusparseSpMatDescr_t *matrix, int64_t rows, int64_t columns, int64_t count, GRADER_COMPRESSED)
GRADER_SPARSE_(cusparseCreateBsr, cusparseSpMatDescr_t *matrix, int64_t rows, int64_t columns, int64_t count, int64_t height, int64_t width, GRADER_COMPRESSED, cusparseOrder_t order)
GRADER_SPARSE_(cusparseCreateCoo, cusparseSpMatDescr_t *matrix, int64_t rows, int64_t columns, int64_t count, void *row_indices, void *column_indices, void *values, cusparseIndexType_t index_type, cusparseIndexBase_t base, cudaDataType type)
GRADER_SPARSE_(cusparseCreateSlicedEll, cusparseSpMatDescr_t *matrix, int64_t rows, int64_t columns, int64_t count, int64_t size, int64_t slice, GRADER_COMPRESSED)
GRADER_SPARSE_(cusparseCreateBlockedEll, cusparseSpMatDescr_t *matrix, int64_t rows, int64_t columns, int64_t side, int64_t width, void *block_columns, void *values, cusparseIndexType_t index_type, cusparseIndexBase_t base, cudaDataType type)
GRADER_SPARSE_(cusparseCreateDnMat, cusparseDnMatDescr_t *matrix, int64_t rows, int64_t columns, int64_t leading, void *values, cudaDataType type, cusparseOrder_t order)
GRADER_SPARSE_(cusparseCreateDnVec, cusparseDnVecDescr_t *vector, int64_t size, void *values, cudaDataType type)
GRADER_SPARSE_(cusparseCreateSpVec, cusparseSpVecDescr_t *vector, int64_t size, int64_t count, void *indices, void *values, cusparseIndexType_t index_type, cusparseIndexBase_t base, cudaDataType type)
#undef GRADER_COMPRESSED
// The same of what is only read.
inline cusparseStatus_t cusparseCreateConstCsr(cusparseConstSpMatDescr_t *m, int64_t r, int64_t c, int64_t n, const void *o, const void *i, const void *v, cusparseIndexType_t ot, cusparseIndexType_t it, cusparseIndexBase_t b, cudaDataType t, GRADER_PLACE) { return cusparseCreateCsr((cusparseSpMatDescr_t *)m, r, c, n, (void *)o, (void *)i, (void *)v, ot, it, b, t, GRADER_HERE); }
inline cusparseStatus_t cusparseCreateConstCsc(cusparseConstSpMatDescr_t *m, int64_t r, int64_t c, int64_t n, const void *o, const void *i, const void *v, cusparseIndexType_t ot, cusparseIndexType_t it, cusparseIndexBase_t b, cudaDataType t, GRADER_PLACE) { return cusparseCreateCsc((cusparseSpMatDescr_t *)m, r, c, n, (void *)o, (void *)i, (void *)v, ot, it, b, t, GRADER_HERE); }
inline cusparseStatus_t cusparseCreateConstCoo(cusparseConstSpMatDescr_t *m, int64_t r, int64_t c, int64_t n, const void *ri, const void *ci, const void *v, cusparseIndexType_t it, cusparseIndexBase_t b, cudaDataType t, GRADER_PLACE) { return cusparseCreateCoo((cusparseSpMatDescr_t *)m, r, c, n, (void *)ri, (void *)ci, (void *)v, it, b, t, GRADER_HERE); }
inline cusparseStatus_t cusparseCreateConstDnMat(cusparseConstDnMatDescr_t *m, int64_t r, int64_t c, int64_t l, const void *v, cudaDataType t, cusparseOrder_t o, GRADER_PLACE) { return cusparseCreateDnMat((cusparseDnMatDescr_t *)m, r, c, l, (void *)v, t, o, GRADER_HERE); }
inline cusparseStatus_t cusparseCreateConstDnVec(cusparseConstDnVecDescr_t *m, int64_t n, const void *v, cudaDataType t, GRADER_PLACE) { return cusparseCreateDnVec((cusparseDnVecDescr_t *)m, n, (void *)v, t, GRADER_HERE); }
inline cusparseStatus_t cusparseCreateConstSpVec(cusparseConstSpVecDescr_t *m, int64_t s, int64_t n, const void *i, const void *v, cusparseIndexType_t it, cusparseIndexBase_t b, cudaDataType t, GRADER_PLACE) { return cusparseCreateSpVec((cusparseSpVecDescr_t *)m, s, n, (void *)i, (void *)v, it, b, t, GRADER_HERE); }
GRADER_SPARSE_(cusparseDestroySpMat, cusparseConstSpMatDescr_t matrix)
GRADER_SPARSE_(cusparseDestroyDnMat, cusparseConstDnMatDescr_t matrix)
GRADER_SPARSE_(cusparseDestroyDnVec, cusparseConstDnVecDescr_t vector)
GRADER_SPARSE_(cusparseDestroySpVec, cusparseConstSpVecDescr_t vector)
GRADER_SPARSE_(cusparseSpMatGetSize, cusparseConstSpMatDescr_t matrix, int64_t *rows, int64_t *columns, int64_t *count)
GRADER_SPARSE_(cusparseSpMatSetAttribute, cusparseSpMatDescr_t matrix, cusparseSpMatAttribute_t attribute, void *data, size_t bytes)
#define GRADER_SET(name, type) GRADER_IMPORT("cusparseSetValues") cusparseStatus_t name(type descriptor, void *values, GRADER_PLACE);
GRADER_SET(cusparseSpMatSetValues, cusparseSpMatDescr_t)
GRADER_SET(cusparseDnMatSetValues, cusparseDnMatDescr_t)
GRADER_SET(cusparseDnVecSetValues, cusparseDnVecDescr_t)
GRADER_SET(cusparseSpVecSetValues, cusparseSpVecDescr_t)
#undef GRADER_SET
#define GRADER_SET(name) GRADER_IMPORT("cusparseSetPointers") cusparseStatus_t name(cusparseSpMatDescr_t matrix, void *first, void *second, void *values, GRADER_PLACE);
GRADER_SET(cusparseCsrSetPointers)
GRADER_SET(cusparseCscSetPointers)
GRADER_SET(cusparseCooSetPointers)
#undef GRADER_SET

#define GRADER_TWO cusparseOperation_t ta, cusparseOperation_t tb
#define GRADER_MV cusparseOperation_t t, const void *alpha, cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x, const void *beta, cusparseDnVecDescr_t y, cudaDataType compute, cusparseSpMVAlg_t algorithm
GRADER_ROOM(cusparseSpMV_bufferSize, GRADER_MV)
GRADER_READY(cusparseSpMV_preprocess, GRADER_MV, void *buffer)
GRADER_SPARSE(cusparseSpMV, GRADER_MV, void *buffer)
#define GRADER_MM GRADER_TWO, const void *alpha, cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b, const void *beta, cusparseDnMatDescr_t c, cudaDataType compute, cusparseSpMMAlg_t algorithm
GRADER_ROOM(cusparseSpMM_bufferSize, GRADER_MM)
GRADER_READY(cusparseSpMM_preprocess, GRADER_MM, void *buffer)
GRADER_SPARSE(cusparseSpMM, GRADER_MM, void *buffer)
#define GRADER_DD GRADER_TWO, const void *alpha, cusparseConstDnMatDescr_t a, cusparseConstDnMatDescr_t b, const void *beta, cusparseSpMatDescr_t c, cudaDataType compute, cusparseSDDMMAlg_t algorithm
GRADER_ROOM(cusparseSDDMM_bufferSize, GRADER_DD)
GRADER_READY(cusparseSDDMM_preprocess, GRADER_DD, void *buffer)
GRADER_SPARSE(cusparseSDDMM, GRADER_DD, void *buffer)
// Products of two sparse matrices: their steps work out anew what they need.
GRADER_SPARSE(cusparseSpGEMM_count, GRADER_TWO, cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b, cusparseSpMatDescr_t c)
GRADER_SPARSE(cusparseSpGEMM_structure, GRADER_TWO, cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b, cusparseSpMatDescr_t c)
GRADER_SPARSE(cusparseSpGEMM_values, GRADER_TWO, const void *alpha, cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b, const void *beta, cusparseSpMatDescr_t c, cudaDataType compute)
#define GRADER_GEMM cusparseHandle_t handle, GRADER_TWO, const void *alpha, cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b, const void *beta, cusparseSpMatDescr_t c, cudaDataType compute, cusparseSpGEMMAlg_t, cusparseSpGEMMDescr_t
#define GRADER_AGAIN cusparseHandle_t handle, GRADER_TWO, cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b, cusparseSpMatDescr_t c, cusparseSpGEMMAlg_t, cusparseSpGEMMDescr_t
#define GRADER_ASKED(bytes, buffer) if (!buffer) { *bytes = 16; return CUSPARSE_STATUS_SUCCESS; }
inline cusparseStatus_t cusparseSpGEMM_createDescr(cusparseSpGEMMDescr_t *d) { *d = new cusparseSpGEMMDescr{0}; return CUSPARSE_STATUS_SUCCESS; }
inline cusparseStatus_t cusparseSpGEMM_destroyDescr(cusparseSpGEMMDescr_t d) { delete d; return CUSPARSE_STATUS_SUCCESS; }
GRADER_SPARSE(cusparseSpGEMM_terms, cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b, int64_t *count)
inline cusparseStatus_t cusparseSpGEMM_getNumProducts(cusparseSpGEMMDescr_t d, int64_t *count) { *count = d->products; return CUSPARSE_STATUS_SUCCESS; }
inline cusparseStatus_t cusparseSpGEMM_workEstimation(GRADER_GEMM settings, size_t *bytes, void *buffer, GRADER_PLACE) {
    GRADER_ASKED(bytes, buffer)
    return cusparseSpGEMM_terms(handle, a, b, &settings->products, GRADER_HERE);
}
inline cusparseStatus_t cusparseSpGEMM_estimateMemory(GRADER_GEMM, float, size_t *bytes, void *buffer, size_t *more) { if (more) *more = 16; GRADER_ASKED(bytes, buffer) return CUSPARSE_STATUS_SUCCESS; }
inline cusparseStatus_t cusparseSpGEMM_compute(GRADER_GEMM, size_t *bytes, void *buffer, GRADER_PLACE) {
    GRADER_ASKED(bytes, buffer)
    return cusparseSpGEMM_count(handle, ta, tb, a, b, c, GRADER_HERE);
}
inline cusparseStatus_t cusparseSpGEMM_copy(GRADER_GEMM, GRADER_PLACE) {
    cusparseStatus_t status = cusparseSpGEMM_structure(handle, ta, tb, a, b, c, GRADER_HERE);
    return status ? status : cusparseSpGEMM_values(handle, ta, tb, alpha, a, b, beta, c, compute, GRADER_HERE);
}
inline cusparseStatus_t cusparseSpGEMMreuse_workEstimation(GRADER_AGAIN, size_t *bytes, void *buffer) { GRADER_ASKED(bytes, buffer) return CUSPARSE_STATUS_SUCCESS; }
inline cusparseStatus_t cusparseSpGEMMreuse_nnz(GRADER_AGAIN, size_t *bytes2, void *buffer2, size_t *bytes3, void *buffer3, size_t *bytes4, void *buffer4, GRADER_PLACE) {
    if (!buffer2) { *bytes2 = *bytes3 = *bytes4 = 16; return CUSPARSE_STATUS_SUCCESS; }
    return cusparseSpGEMM_count(handle, ta, tb, a, b, c, GRADER_HERE);
}
inline cusparseStatus_t cusparseSpGEMMreuse_copy(GRADER_AGAIN, size_t *bytes, void *buffer, GRADER_PLACE) {
    GRADER_ASKED(bytes, buffer)
    return cusparseSpGEMM_structure(handle, ta, tb, a, b, c, GRADER_HERE);
}
inline cusparseStatus_t cusparseSpGEMMreuse_compute(GRADER_GEMM, GRADER_PLACE) { return cusparseSpGEMM_values(handle, ta, tb, alpha, a, b, beta, c, compute, GRADER_HERE); }
#undef GRADER_GEMM
#undef GRADER_AGAIN
#undef GRADER_ASKED
#define GRADER_SV cusparseOperation_t t, const void *alpha, cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x, cusparseDnVecDescr_t y, cudaDataType compute, cusparseSpSVAlg_t algorithm, cusparseSpSVDescr_t settings
GRADER_ROOM(cusparseSpSV_bufferSize, GRADER_SV)
GRADER_READY(cusparseSpSV_analysis, GRADER_SV, void *buffer)
GRADER_SPARSE(cusparseSpSV_solve, GRADER_SV)
#define GRADER_SM GRADER_TWO, const void *alpha, cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b, cusparseDnMatDescr_t c, cudaDataType compute, cusparseSpSMAlg_t algorithm, cusparseSpSMDescr_t settings
GRADER_ROOM(cusparseSpSM_bufferSize, GRADER_SM)
GRADER_READY(cusparseSpSM_analysis, GRADER_SM, void *buffer)
GRADER_SPARSE(cusparseSpSM_solve, GRADER_SM)
inline cusparseStatus_t cusparseSpSV_createDescr(cusparseSpSVDescr_t *d) { *d = new grader_sparse_settings{0}; return CUSPARSE_STATUS_SUCCESS; }
inline cusparseStatus_t cusparseSpSV_destroyDescr(cusparseSpSVDescr_t d) { delete d; return CUSPARSE_STATUS_SUCCESS; }
inline cusparseStatus_t cusparseSpSM_createDescr(cusparseSpSMDescr_t *d) { *d = new grader_sparse_settings{0}; return CUSPARSE_STATUS_SUCCESS; }
inline cusparseStatus_t cusparseSpSM_destroyDescr(cusparseSpSMDescr_t d) { delete d; return CUSPARSE_STATUS_SUCCESS; }
GRADER_SPARSE(cusparseGather, cusparseConstDnVecDescr_t y, cusparseSpVecDescr_t x)
GRADER_SPARSE(cusparseScatter, cusparseConstSpVecDescr_t x, cusparseDnVecDescr_t y)
GRADER_SPARSE(cusparseAxpby, const void *alpha, cusparseConstSpVecDescr_t x, const void *beta, cusparseDnVecDescr_t y)
GRADER_ROOM(cusparseSpVV_bufferSize, cusparseOperation_t t, cusparseConstSpVecDescr_t x, cusparseConstDnVecDescr_t y, const void *result, cudaDataType compute)
GRADER_SPARSE(cusparseSpVV, cusparseOperation_t t, cusparseConstSpVecDescr_t x, cusparseConstDnVecDescr_t y, void *result, cudaDataType compute, void *buffer)
GRADER_ROOM(cusparseDenseToSparse_bufferSize, cusparseConstDnMatDescr_t a, cusparseSpMatDescr_t b, cusparseDenseToSparseAlg_t algorithm)
GRADER_SPARSE(cusparseDenseToSparse_analysis, cusparseConstDnMatDescr_t a, cusparseSpMatDescr_t b, cusparseDenseToSparseAlg_t algorithm, void *buffer)
GRADER_SPARSE(cusparseDenseToSparse_convert, cusparseConstDnMatDescr_t a, cusparseSpMatDescr_t b, cusparseDenseToSparseAlg_t algorithm, void *buffer)
GRADER_ROOM(cusparseSparseToDense_bufferSize, cusparseConstSpMatDescr_t a, cusparseDnMatDescr_t b, cusparseSparseToDenseAlg_t algorithm)
GRADER_SPARSE(cusparseSparseToDense, cusparseConstSpMatDescr_t a, cusparseDnMatDescr_t b, cusparseSparseToDenseAlg_t algorithm, void *buffer)
#define GRADER_CSC int m, int n, int count, const void *values, const int *offsets, const int *columns, void *out, int *out_offsets, int *out_rows, cudaDataType type, cusparseAction_t action, cusparseIndexBase_t base, cusparseCsr2CscAlg_t algorithm
GRADER_ROOM(cusparseCsr2cscEx2_bufferSize, GRADER_CSC)
GRADER_SPARSE(cusparseCsr2cscEx2, GRADER_CSC, void *buffer)
GRADER_SPARSE(cusparseXcoo2csr, const int *rows, int count, int m, int *offsets, cusparseIndexBase_t base)
GRADER_SPARSE(cusparseXcsr2coo, const int *offsets, int count, int m, int *rows, cusparseIndexBase_t base)
GRADER_SPARSE(cusparseCreateIdentityPermutation, int n, int *permutation)
GRADER_ROOM(cusparseXcoosort_bufferSizeExt, int m, int n, int count, const int *rows, const int *columns)
GRADER_SPARSE(cusparseXcoosortByRow, int m, int n, int count, int *rows, int *columns, int *permutation, void *buffer)
GRADER_SPARSE(cusparseXcoosortByColumn, int m, int n, int count, int *rows, int *columns, int *permutation, void *buffer)
GRADER_SPARSE_(cusparseDnMatSetStridedBatch, cusparseDnMatDescr_t matrix, int count, int64_t stride)
GRADER_SPARSE_(cusparseCsrSetStridedBatch, cusparseSpMatDescr_t matrix, int count, int64_t offsets, int64_t values)
GRADER_SPARSE_(cusparseCooSetStridedBatch, cusparseSpMatDescr_t matrix, int count, int64_t stride)
// Factorisations that keep to the matrix's places. What they found lies with the host: the first row with no pivot.
struct grader_incomplete { int zero_pivot; };
typedef grader_incomplete *csrilu02Info_t;
typedef grader_incomplete *csric02Info_t;
enum cusparseSolvePolicy_t { CUSPARSE_SOLVE_POLICY_NO_LEVEL = 0, CUSPARSE_SOLVE_POLICY_USE_LEVEL = 1 };
inline cusparseStatus_t cusparseCreateCsrilu02Info(csrilu02Info_t *info) { *info = new grader_incomplete{-1}; return CUSPARSE_STATUS_SUCCESS; }
inline cusparseStatus_t cusparseDestroyCsrilu02Info(csrilu02Info_t info) { delete info; return CUSPARSE_STATUS_SUCCESS; }
inline cusparseStatus_t cusparseCreateCsric02Info(csric02Info_t *info) { *info = new grader_incomplete{-1}; return CUSPARSE_STATUS_SUCCESS; }
inline cusparseStatus_t cusparseDestroyCsric02Info(csric02Info_t info) { delete info; return CUSPARSE_STATUS_SUCCESS; }
#define GRADER_ZERO_PIVOT(name) GRADER_IMPORT("cusparseZeroPivot") cusparseStatus_t name(cusparseHandle_t handle, grader_incomplete *info, int *position, GRADER_PLACE);
GRADER_ZERO_PIVOT(cusparseXcsrilu02_zeroPivot)
GRADER_ZERO_PIVOT(cusparseXcsric02_zeroPivot)
#undef GRADER_ZERO_PIVOT
#define GRADER_INCOMPLETE(name, T) \
    GRADER_IMPORT(#name) cusparseStatus_t grader_##name(cusparseHandle_t handle, int m, int count, int base, T *values, const int *offsets, const int *columns, grader_incomplete *info, int policy, void *buffer, int line, const char *file); \
    inline cusparseStatus_t name##_bufferSize(cusparseHandle_t, int, int, const cusparseMatDescr *, T *, const int *, const int *, grader_incomplete *, int *bytes) { *bytes = 16; return CUSPARSE_STATUS_SUCCESS; } \
    inline cusparseStatus_t name##_analysis(cusparseHandle_t, int, int, const cusparseMatDescr *, const T *, const int *, const int *, grader_incomplete *, cusparseSolvePolicy_t, void *) { return CUSPARSE_STATUS_SUCCESS; } \
    inline cusparseStatus_t name(cusparseHandle_t handle, int m, int count, const cusparseMatDescr *matrix, T *values, const int *offsets, const int *columns, grader_incomplete *info, cusparseSolvePolicy_t policy, void *buffer, GRADER_PLACE) { return grader_##name(handle, m, count, matrix->base, values, offsets, columns, info, policy, buffer, GRADER_HERE); }
#define GRADER_INCOMPLETE_OF(L, T) GRADER_INCOMPLETE(cusparse##L##csrilu02, T) GRADER_INCOMPLETE(cusparse##L##csric02, T)
GRADER_INCOMPLETE_OF(S, float) GRADER_INCOMPLETE_OF(D, double) GRADER_INCOMPLETE_OF(C, cuComplex) GRADER_INCOMPLETE_OF(Z, cuDoubleComplex)
#undef GRADER_INCOMPLETE_OF
#undef GRADER_INCOMPLETE
GRADER_ROOM(cusparseXcsrsort_bufferSizeExt, int m, int n, int count, const int *offsets, const int *columns)
GRADER_IMPORT("cusparseXcsrsort") cusparseStatus_t grader_cusparseXcsrsort(cusparseHandle_t handle, int m, int n, int count, int base, const int *offsets, int *columns, int *permutation, void *buffer, int line, const char *file);
inline cusparseStatus_t cusparseXcsrsort(cusparseHandle_t handle, int m, int n, int count, const cusparseMatDescr *matrix, const int *offsets, int *columns, int *permutation, void *buffer, GRADER_PLACE) { return grader_cusparseXcsrsort(handle, m, n, count, matrix->base, offsets, columns, permutation, buffer, GRADER_HERE); }
#undef GRADER_SPARSE
#undef GRADER_SPARSE_
#undef GRADER_ROOM
#undef GRADER_READY
#undef GRADER_TWO
#undef GRADER_MV
#undef GRADER_MM
#undef GRADER_DD
#undef GRADER_SV
#undef GRADER_SM
#undef GRADER_CSC
#define GRADER_STATUSES(with) with(SUCCESS, "success") with(NOT_INITIALIZED, "initialization error") with(ALLOC_FAILED, "out of memory") \
    with(INVALID_VALUE, "invalid value") with(ARCH_MISMATCH, "feature not available on this architecture") with(MAPPING_ERROR, "texture mapping error") \
    with(EXECUTION_FAILED, "kernel launch failure") with(INTERNAL_ERROR, "internal error") with(MATRIX_TYPE_NOT_SUPPORTED, "matrix type not supported") \
    with(ZERO_PIVOT, "zero pivot") with(NOT_SUPPORTED, "operation not supported") with(INSUFFICIENT_RESOURCES, "insufficient resources")
inline const char *cusparseGetErrorName(cusparseStatus_t s) {
#define GRADER_STATUS(name, text) if (s == CUSPARSE_STATUS_##name) return "CUSPARSE_STATUS_" #name;
    GRADER_STATUSES(GRADER_STATUS)
#undef GRADER_STATUS
    return "unrecognized error code";
}
inline const char *cusparseGetErrorString(cusparseStatus_t s) {
#define GRADER_STATUS(name, text) if (s == CUSPARSE_STATUS_##name) return text;
    GRADER_STATUSES(GRADER_STATUS)
#undef GRADER_STATUS
    return "unrecognized error code";
}
#undef GRADER_STATUSES
