#include <cstdio>
#include <cusparse.h>
#include <vector>

template <typename T> static T *on_device(const std::vector<T> &h) {
    T *d;
    cudaMalloc(&d, h.size() * sizeof(T));
    cudaMemcpy(d, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice);
    return d;
}

static void print(const char *name, const int *starts, const int *columns, const double *values, int n, int64_t count) {
    std::vector<int> s(n + 1), c(count);
    std::vector<double> v(count);
    cudaMemcpy(s.data(), starts, s.size() * sizeof(int), cudaMemcpyDeviceToHost);
    cudaMemcpy(c.data(), columns, count * sizeof(int), cudaMemcpyDeviceToHost);
    cudaMemcpy(v.data(), values, count * sizeof(double), cudaMemcpyDeviceToHost);
    printf("%s:", name);
    for (int row = 0; row < n; row++)
        for (int i = s[row] - s[0]; i < s[row + 1] - s[0]; i++) printf(" (%d,%d)=%g", row, c[i] - s[0], v[i]);
    printf("\n");
}

int main() {
    // A: 2 0 1 / 0 0 0 / 0 3 -1; B: 1 0 4 / 0 5 0 / 3 15 0, from 1 on
    int *a_starts = on_device<int>({1, 3, 3, 5}), *a_columns = on_device<int>({1, 3, 2, 3});
    int *b_starts = on_device<int>({1, 3, 4, 6}), *b_columns = on_device<int>({1, 3, 2, 1, 2}), *c_starts, *c_columns;
    double *a = on_device<double>({2, 1, 3, -1}), *b = on_device<double>({1, 4, 5, 3, 15}), *c, alpha = 2, beta = 0;
    cudaMalloc(&c_starts, 4 * sizeof(int));
    cusparseHandle_t handle;
    cusparseSpMatDescr_t A, B, C, D;
    cusparseSpGEMMDescr_t product;
    auto plain = CUSPARSE_OPERATION_NON_TRANSPOSE;
    auto i32 = CUSPARSE_INDEX_32I;
    auto one = CUSPARSE_INDEX_BASE_ONE;
    cusparseCreate(&handle);
    cusparseCreateCsr(&A, 3, 3, 4, a_starts, a_columns, a, i32, i32, one, CUDA_R_64F);
    cusparseCreateCsr(&B, 3, 3, 5, b_starts, b_columns, b, i32, i32, one, CUDA_R_64F);
    cusparseCreateCsr(&C, 3, 3, 0, c_starts, nullptr, nullptr, i32, i32, one, CUDA_R_64F);
    cusparseCreateCsr(&D, 3, 2, 0, c_starts, nullptr, nullptr, i32, i32, one, CUDA_R_64F);
    cusparseSpGEMM_createDescr(&product);
    size_t bytes[5] = {};
    char *buffers[5];
    auto estimate = [&](cusparseSpMatDescr_t to, void *buffer) {
        return cusparseSpGEMM_workEstimation(handle, plain, plain, &alpha, A, B, &beta, to, CUDA_R_64F, CUSPARSE_SPGEMM_DEFAULT, product, &bytes[0], buffer);
    };
    auto work = [&](cusparseSpMatDescr_t to, void *buffer) {
        return cusparseSpGEMM_compute(handle, plain, plain, &alpha, A, B, &beta, to, CUDA_R_64F, CUSPARSE_SPGEMM_DEFAULT, product, &bytes[1], buffer);
    };
    estimate(C, nullptr);
    cudaMalloc(&buffers[0], bytes[0]);
    estimate(C, buffers[0]);
    work(C, nullptr);
    cudaMalloc(&buffers[1], bytes[1]);
    int refused = work(D, buffers[1]);
    printf("%d %d", work(C, buffers[1]), refused);
    int64_t rows, columns, count;
    cusparseSpMatGetSize(C, &rows, &columns, &count);
    printf(" %ld values\n", (long)count);
    cudaMalloc(&c_columns, count * sizeof(int));
    cudaMalloc(&c, count * sizeof(double));
    cusparseCsrSetPointers(C, c_starts, c_columns, c);
    cusparseSpGEMM_copy(handle, plain, plain, &alpha, A, B, &beta, C, CUDA_R_64F, CUSPARSE_SPGEMM_DEFAULT, product);
    print("2 A B", c_starts, c_columns, c, 3, count);
    for (int i = 0; i < 2; i++) cudaFree(buffers[i]);

    // The same structure for several products: 2 A B, then that minus A B
    cusparseSpGEMMDescr_t again;
    cusparseSpGEMM_createDescr(&again);
    auto d = CUSPARSE_SPGEMM_DEFAULT;
    cusparseSpGEMMreuse_workEstimation(handle, plain, plain, A, B, C, d, again, &bytes[0], nullptr);
    cudaMalloc(&buffers[0], bytes[0]);
    cusparseSpGEMMreuse_workEstimation(handle, plain, plain, A, B, C, d, again, &bytes[0], buffers[0]);
    cusparseSpGEMMreuse_nnz(handle, plain, plain, A, B, C, d, again, &bytes[1], nullptr, &bytes[2], nullptr, &bytes[3], nullptr);
    for (int i = 1; i < 4; i++) cudaMalloc(&buffers[i], bytes[i]);
    cusparseSpGEMMreuse_nnz(handle, plain, plain, A, B, C, d, again, &bytes[1], buffers[1], &bytes[2], buffers[2], &bytes[3], buffers[3]);
    cusparseCsrSetPointers(C, c_starts, c_columns, c);
    cusparseSpGEMMreuse_copy(handle, plain, plain, A, B, C, d, again, &bytes[4], nullptr);
    cudaMalloc(&buffers[4], bytes[4]);
    cusparseSpGEMMreuse_copy(handle, plain, plain, A, B, C, d, again, &bytes[4], buffers[4]);
    cusparseSpGEMMreuse_compute(handle, plain, plain, &alpha, A, B, &beta, C, CUDA_R_64F, d, again);
    beta = 1;
    alpha = -1;
    cusparseSpGEMMreuse_compute(handle, plain, plain, &alpha, A, B, &beta, C, CUDA_R_64F, d, again);
    print("A B", c_starts, c_columns, c, 3, count);
    cusparseSpGEMM_destroyDescr(again);
    cusparseSpGEMM_destroyDescr(product);
    for (auto matrix : {A, B, C, D}) cusparseDestroySpMat(matrix);
    cusparseDestroy(handle);
    for (void *p : {(void *)a_starts, (void *)a_columns, (void *)b_starts, (void *)b_columns, (void *)c_starts, (void *)c_columns, (void *)a, (void *)b, (void *)c}) cudaFree(p);
    for (char *buffer : buffers) cudaFree(buffer);
}
