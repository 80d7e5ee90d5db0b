// Incomplete factorisations, which are whole ones of a matrix of three diagonals, and solutions by their triangles.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <cusparse.h>

#define CHECK(call)                                                                                     \
    do {                                                                                                \
        int status = (int)(call);                                                                       \
        if (status != 0) {                                                                              \
            std::printf("line %d: %d\n", __LINE__, status);                                             \
            std::exit(1);                                                                               \
        }                                                                                               \
    } while (0)

const int N = 4, COUNT = 10;

template <class T> T *on_device(const T *from, int count) {
    T *to;
    CHECK(cudaMalloc(&to, count * sizeof(T)));
    CHECK(cudaMemcpy(to, from, count * sizeof(T), cudaMemcpyHostToDevice));
    return to;
}

void show(const char *what, const double *from, int count) {
    double host[32];
    CHECK(cudaMemcpy(host, from, count * sizeof(double), cudaMemcpyDeviceToHost));
    std::printf("%s", what);
    for (int i = 0; i < count; i++) std::printf(" %.4f", host[i]);
    std::printf("\n");
}

int main() {
    const int offsets[] = {0, 2, 5, 8, 10}, columns[] = {0, 1, 0, 1, 2, 1, 2, 3, 2, 3};
    const double values[] = {4, -1, -1, 4, -1, -1, 4, -1, -1, 4}, right[] = {2, 4, 6, 13};
    int *rows = on_device(offsets, N + 1), *places = on_device(columns, COUNT);
    double *lu = on_device(values, COUNT), *llt = on_device(values, COUNT), *b = on_device(right, N);
    double *half = on_device(right, N), *x = on_device(right, N);
    cusparseHandle_t handle;
    CHECK(cusparseCreate(&handle));
    cusparseMatDescr_t general;
    CHECK(cusparseCreateMatDescr(&general));

    csrilu02Info_t ilu;
    CHECK(cusparseCreateCsrilu02Info(&ilu));
    int bytes, pivot;
    CHECK(cusparseDcsrilu02_bufferSize(handle, N, COUNT, general, lu, rows, places, ilu, &bytes));
    void *buffer;
    CHECK(cudaMalloc(&buffer, bytes + (1 << 20)));
    CHECK(cusparseDcsrilu02_analysis(handle, N, COUNT, general, lu, rows, places, ilu, CUSPARSE_SOLVE_POLICY_NO_LEVEL, buffer));
    CHECK(cusparseDcsrilu02(handle, N, COUNT, general, lu, rows, places, ilu, CUSPARSE_SOLVE_POLICY_NO_LEVEL, buffer));
    CHECK(cusparseXcsrilu02_zeroPivot(handle, ilu, &pivot));
    show("L U:", lu, COUNT);
    csric02Info_t ic;
    CHECK(cusparseCreateCsric02Info(&ic));
    CHECK(cusparseDcsric02_analysis(handle, N, COUNT, general, llt, rows, places, ic, CUSPARSE_SOLVE_POLICY_USE_LEVEL, buffer));
    CHECK(cusparseDcsric02(handle, N, COUNT, general, llt, rows, places, ic, CUSPARSE_SOLVE_POLICY_USE_LEVEL, buffer));
    show("L L^T:", llt, COUNT);

    // L y = b, U x = y, and the same by the other factor.
    cusparseDnVecDescr_t vectors[3];
    double *of_vector[] = {b, half, x};
    for (int i = 0; i < 3; i++) CHECK(cusparseCreateDnVec(&vectors[i], N, of_vector[i], CUDA_R_64F));
    struct { double *values; cusparseFillMode_t fill; cusparseDiagType_t diagonal; cusparseOperation_t operation; int from; } steps[] = {
        {lu, CUSPARSE_FILL_MODE_LOWER, CUSPARSE_DIAG_TYPE_UNIT, CUSPARSE_OPERATION_NON_TRANSPOSE, 0},
        {lu, CUSPARSE_FILL_MODE_UPPER, CUSPARSE_DIAG_TYPE_NON_UNIT, CUSPARSE_OPERATION_NON_TRANSPOSE, 1},
        {llt, CUSPARSE_FILL_MODE_LOWER, CUSPARSE_DIAG_TYPE_NON_UNIT, CUSPARSE_OPERATION_NON_TRANSPOSE, 0},
        {llt, CUSPARSE_FILL_MODE_LOWER, CUSPARSE_DIAG_TYPE_NON_UNIT, CUSPARSE_OPERATION_TRANSPOSE, 1},
    };
    double one = 1;
    for (auto &step : steps) {
        cusparseSpMatDescr_t matrix;
        CHECK(cusparseCreateCsr(&matrix, N, N, COUNT, rows, places, step.values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
        CHECK(cusparseSpMatSetAttribute(matrix, CUSPARSE_SPMAT_FILL_MODE, &step.fill, sizeof step.fill));
        CHECK(cusparseSpMatSetAttribute(matrix, CUSPARSE_SPMAT_DIAG_TYPE, &step.diagonal, sizeof step.diagonal));
        cusparseSpSVDescr_t solver;
        CHECK(cusparseSpSV_createDescr(&solver));
        size_t size;
        CHECK(cusparseSpSV_bufferSize(handle, step.operation, &one, matrix, vectors[step.from], vectors[step.from + 1], CUDA_R_64F, CUSPARSE_SPSV_ALG_DEFAULT, solver, &size));
        void *area;
        CHECK(cudaMalloc(&area, size));
        CHECK(cusparseSpSV_analysis(handle, step.operation, &one, matrix, vectors[step.from], vectors[step.from + 1], CUDA_R_64F, CUSPARSE_SPSV_ALG_DEFAULT, solver, area));
        CHECK(cusparseSpSV_solve(handle, step.operation, &one, matrix, vectors[step.from], vectors[step.from + 1], CUDA_R_64F, CUSPARSE_SPSV_ALG_DEFAULT, solver));
        if (step.from) show("x:", x, N);
        CHECK(cusparseSpSV_destroyDescr(solver));
        CHECK(cusparseDestroySpMat(matrix));
        CHECK(cudaFree(area));
    }

    // A pivot that becomes zero in the second row.
    const double singular[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    CHECK(cudaMemcpy(lu, singular, sizeof singular, cudaMemcpyHostToDevice));
    CHECK(cusparseDcsrilu02(handle, N, COUNT, general, lu, rows, places, ilu, CUSPARSE_SOLVE_POLICY_NO_LEVEL, buffer));
    cusparseStatus_t status = cusparseXcsrilu02_zeroPivot(handle, ilu, &pivot);
    std::printf("%s %d\n", cusparseGetErrorName(status), pivot);

    // Two matrices of a batch, each by a column of its own.
    const double two[] = {1, 2, 3, 10, 20, 30}, factor[] = {1, 1, 2, 2};
    const int starts[] = {0, 1, 3, 0, 1, 3}, at[] = {0, 0, 1, 1, 0, 1};
    double *both = on_device(two, 6), *by = on_device(factor, 4), *into = on_device(factor, 4);
    int *both_starts = on_device(starts, 6), *both_places = on_device(at, 6);
    cusparseSpMatDescr_t a;
    cusparseDnMatDescr_t c, d;
    CHECK(cusparseCreateCsr(&a, 2, 2, 3, both_starts, both_places, both, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
    CHECK(cusparseCsrSetStridedBatch(a, 2, 3, 3));
    CHECK(cusparseCreateDnMat(&c, 2, 1, 2, by, CUDA_R_64F, CUSPARSE_ORDER_COL));
    CHECK(cusparseCreateDnMat(&d, 2, 1, 2, into, CUDA_R_64F, CUSPARSE_ORDER_COL));
    CHECK(cusparseDnMatSetStridedBatch(c, 2, 2));
    CHECK(cusparseDnMatSetStridedBatch(d, 2, 2));
    double none = 0;
    size_t size;
    CHECK(cusparseSpMM_bufferSize(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, a, c, &none, d, CUDA_R_64F, CUSPARSE_SPMM_ALG_DEFAULT, &size));
    void *area;
    CHECK(cudaMalloc(&area, size + 1));
    CHECK(cusparseSpMM(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, a, c, &none, d, CUDA_R_64F, CUSPARSE_SPMM_ALG_DEFAULT, area));
    show("batch:", into, 4);
    CHECK(cusparseDestroy(handle));
    CHECK(cudaDeviceReset());
}
