// cuSPARSE: one matrix in every form, its products, solutions and conversions.
#include <cstdio>
#include <cusparse.h>
#include <vector>

template <class T> T *device(const std::vector<T> &v) {
    T *p;
    cudaMalloc(&p, v.size() * sizeof(T));
    cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice);
    return p;
}
template <class T> void print(const char *name, T *p, int n) {
    std::vector<T> h(n);
    cudaMemcpy(h.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost);
    printf("%s:", name);
    for (T x : h) printf(" %g", (double)x);
    printf("\n");
}
#define TYPES CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F

int main() {
    // 1 0 2 3
    // 0 4 0 0
    // 5 0 6 7
    int *offsets = device<int>({0, 3, 4, 7}), *columns = device<int>({0, 2, 3, 1, 0, 2, 3}), *rows = device<int>({0, 0, 0, 1, 2, 2, 2});
    int *starts = device<int>({0, 2, 3, 5, 7}), *below = device<int>({0, 2, 1, 0, 2, 0, 2});
    float *values = device<float>({1, 2, 3, 4, 5, 6, 7}), *by_column = device<float>({1, 5, 4, 2, 6, 3, 7});
    float *x = device<float>({1, 2, 3, 4}), *y = device<float>({1, 1, 1}), *z = device<float>({0, 0, 0, 0});
    float *b = device<float>({1, 2, 3, 4, 0, 1, 0, 1}), *c = device(std::vector<float>(6));
    float one = 1, two = 2, none = 0;
    char *buffer;
    size_t bytes = 0;
    cudaMalloc(&buffer, 4096);
    cusparseHandle_t handle;
    cusparseCreate(&handle);
    cusparseSpMatDescr_t csr, csc, coo;
    cusparseDnVecDescr_t vx, vy, vz;
    cusparseDnMatDescr_t mb, mc;
    cusparseCreateCsr(&csr, 3, 4, 7, offsets, columns, values, TYPES);
    cusparseCreateCsc(&csc, 3, 4, 7, starts, below, by_column, TYPES);
    cusparseCreateCoo(&coo, 3, 4, 7, rows, columns, values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F);
    cusparseCreateDnVec(&vx, 4, x, CUDA_R_32F);
    cusparseCreateDnVec(&vy, 3, y, CUDA_R_32F);
    cusparseCreateDnVec(&vz, 4, z, CUDA_R_32F);
    cusparseCreateDnMat(&mb, 4, 2, 4, b, CUDA_R_32F, CUSPARSE_ORDER_COL);
    cusparseCreateDnMat(&mc, 3, 2, 2, c, CUDA_R_32F, CUSPARSE_ORDER_ROW);
    cusparseSpMV_bufferSize(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, csr, vx, &two, vy, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, &bytes);
    cusparseSpMV(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, csr, vx, &two, vy, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, buffer);
    print("csr", y, 3);
    cusparseSpMV(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, coo, vx, &none, vy, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, buffer);
    print("coo", y, 3);
    cusparseSpMV(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, csc, vx, &none, vy, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, buffer);
    print("csc", y, 3);
    cusparseSpMV(handle, CUSPARSE_OPERATION_TRANSPOSE, &one, csr, vy, &none, vz, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, buffer);
    print("transposed", z, 4);
    cusparseSpMM(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, csr, mb, &none, mc, CUDA_R_32F, CUSPARSE_SPMM_ALG_DEFAULT, buffer);
    print("SpMM by rows", c, 6);
    int64_t many, across, count;
    cusparseSpMatGetSize(csr, &many, &across, &count);
    printf("%d x %d, %d\n", (int)many, (int)across, (int)count);

    // In slices of two rows, filled up, and in blocks of two by two.
    int *slices = device<int>({0, 6, 12}), *sliced = device<int>({0, 1, 2, -1, 3, -1, 0, -1, 2, -1, 3, -1}), *blocks = device<int>({1, -1});
    float *in_slices = device<float>({1, 4, 2, 0, 3, 0, 5, 0, 6, 0, 7, 0}), *in_blocks = device<float>({1, 2, 3, 4, 0, 0, 0, 0});
    float *square = device<float>({0, 0, 1, 2, 0, 0, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0}), *eight = device(std::vector<float>(8));
    cusparseSpMatDescr_t sell, ell;
    cusparseDnMatDescr_t ms, me;
    cusparseCreateSlicedEll(&sell, 3, 4, 7, 12, 2, slices, sliced, in_slices, TYPES);
    cusparseSpMV(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, sell, vx, &none, vy, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, buffer);
    print("sliced", y, 3);
    cusparseSpMatGetSize(sell, &many, &across, &count);
    printf("%d x %d, %d\n", (int)many, (int)across, (int)count);
    cusparseCreateBlockedEll(&ell, 4, 4, 2, 2, blocks, in_blocks, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F);
    cusparseCreateDnMat(&ms, 4, 4, 4, square, CUDA_R_32F, CUSPARSE_ORDER_ROW);
    cusparseCreateDnMat(&me, 4, 2, 4, eight, CUDA_R_32F, CUSPARSE_ORDER_COL);
    cusparseSpMM(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, ell, mb, &none, me, CUDA_R_32F, CUSPARSE_SPMM_ALG_DEFAULT, buffer);
    print("SpMM of blocks", eight, 8);
    printf("blocks to dense: %s\n", cusparseGetErrorName(cusparseSparseToDense(handle, ell, ms, CUSPARSE_SPARSETODENSE_ALG_DEFAULT, buffer)));
    cudaMemset(in_blocks, 0, 32);
    cusparseDenseToSparse_analysis(handle, ms, ell, CUSPARSE_DENSETOSPARSE_ALG_DEFAULT, buffer);
    cusparseDenseToSparse_convert(handle, ms, ell, CUSPARSE_DENSETOSPARSE_ALG_DEFAULT, buffer);
    print("again", in_blocks, 8);
    printf("%s\n", cusparseGetErrorName(cusparseCreateBlockedEll(&ell, 3, 4, 2, 2, blocks, in_blocks, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F)));

    // To dense and back.
    float *dense = device(std::vector<float>(12)), *again = device(std::vector<float>(7));
    int *new_offsets = device(std::vector<int>(4)), *new_columns = device(std::vector<int>(7));
    cusparseDnMatDescr_t md;
    cusparseSpMatDescr_t made;
    cusparseCreateDnMat(&md, 3, 4, 4, dense, CUDA_R_32F, CUSPARSE_ORDER_ROW);
    cusparseSparseToDense(handle, csc, md, CUSPARSE_SPARSETODENSE_ALG_DEFAULT, buffer);
    print("dense", dense, 12);
    cusparseCreateCsr(&made, 3, 4, 0, new_offsets, nullptr, nullptr, TYPES);
    cusparseDenseToSparse_analysis(handle, md, made, CUSPARSE_DENSETOSPARSE_ALG_DEFAULT, buffer);
    cusparseSpMatGetSize(made, &many, &across, &count);
    cusparseCsrSetPointers(made, new_offsets, new_columns, again);
    cusparseDenseToSparse_convert(handle, md, made, CUSPARSE_DENSETOSPARSE_ALG_DEFAULT, buffer);
    printf("%d\n", (int)count);
    print("offsets", new_offsets, 4);
    print("columns", new_columns, 7);
    print("values", again, 7);
    int *t_offsets = device(std::vector<int>(5)), *t_rows = device(std::vector<int>(7));
    cusparseCsr2cscEx2(handle, 3, 4, 7, values, offsets, columns, again, t_offsets, t_rows, CUDA_R_32F, CUSPARSE_ACTION_NUMERIC, CUSPARSE_INDEX_BASE_ZERO, CUSPARSE_CSR2CSC_ALG1, buffer);
    print("csc offsets", t_offsets, 5);
    print("csc rows", t_rows, 7);
    print("csc values", again, 7);
    cusparseXcoo2csr(handle, rows, 7, 3, new_offsets, CUSPARSE_INDEX_BASE_ZERO);
    print("coo2csr", new_offsets, 4);

    // A lower triangle: 2 . / 1 4.
    int *lo = device<int>({0, 1, 3}), *lc = device<int>({0, 0, 1});
    float *lv = device<float>({2, 1, 4}), *right = device<float>({2, 9}), *solution = device<float>({0, 0});
    cusparseSpMatDescr_t triangle;
    cusparseDnVecDescr_t vr, vs;
    cusparseSpSVDescr_t settings;
    cusparseFillMode_t lower = CUSPARSE_FILL_MODE_LOWER;
    cusparseCreateCsr(&triangle, 2, 2, 3, lo, lc, lv, TYPES);
    cusparseSpMatSetAttribute(triangle, CUSPARSE_SPMAT_FILL_MODE, &lower, sizeof lower);
    cusparseCreateDnVec(&vr, 2, right, CUDA_R_32F);
    cusparseCreateDnVec(&vs, 2, solution, CUDA_R_32F);
    cusparseSpSV_createDescr(&settings);
    cusparseSpSV_analysis(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, triangle, vr, vs, CUDA_R_32F, CUSPARSE_SPSV_ALG_DEFAULT, settings, buffer);
    cusparseSpSV_solve(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, triangle, vr, vs, CUDA_R_32F, CUSPARSE_SPSV_ALG_DEFAULT, settings);
    print("SpSV", solution, 2);

    int *places = device<int>({3, 1});
    float *few = device<float>({0, 0});
    cusparseSpVecDescr_t sparse;
    cusparseCreateSpVec(&sparse, 4, 2, places, few, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F);
    cusparseGather(handle, vx, sparse);
    print("gathered", few, 2);
    cusparseAxpby(handle, &two, sparse, &one, vx);
    print("axpby", x, 4);
    printf("%s\n", cusparseGetErrorName(cusparseSpMV(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, nullptr, vx, &none, vy, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, buffer)));
    cusparseSpSV_destroyDescr(settings);
    cusparseDestroySpMat(csr);
    cusparseDestroyDnVec(vx);
    cusparseDestroy(handle);
}

// As NVIDIA's own helper_cuda.h asks whether errors of this library are known.
#ifndef CUSPARSEAPI
#error "the library's header is not known"
#endif
