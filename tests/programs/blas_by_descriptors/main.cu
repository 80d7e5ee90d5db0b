// Products by cuBLASLt's descriptors beside loops of the host.
#include <cublasLt.h>
#include <cstdio>
#include <cmath>
#include <vector>
const int M = 5, N = 4, K = 3;
#define LT(call) do { cublasStatus_t s = (call); if (s) printf("line %d: status %d\n", __LINE__, s); } while (0)
template <class T> T *device(const std::vector<T> &v) {
    T *p; cudaMalloc(&p, v.size() * sizeof(T));
    cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice);
    return p;
}
int main() {
    std::vector<float> a(2 * M * K), b(2 * K * N), d(2 * M * N), bias(M);
    for (size_t i = 0; i < a.size(); i++) a[i] = (int)(i * 7 % 11) - 5;
    for (size_t i = 0; i < b.size(); i++) b[i] = (int)(i * 5 % 9) - 4;
    for (int i = 0; i < M; i++) bias[i] = i - 2.5f;
    float *da = device(a), *db = device(b), *dd = device(d), *dbias = device(bias), alpha = 2, beta = 0;
    cublasLtHandle_t lt; LT(cublasLtCreate(&lt));
    cublasLtMatmulDesc_t op; LT(cublasLtMatmulDescCreate(&op, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    cublasOperation_t t = CUBLAS_OP_T;
    LT(cublasLtMatmulDescSetAttribute(op, CUBLASLT_MATMUL_DESC_TRANSA, &t, sizeof t));
    cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_RELU_BIAS;
    LT(cublasLtMatmulDescSetAttribute(op, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue));
    LT(cublasLtMatmulDescSetAttribute(op, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &dbias, sizeof dbias));
    cublasLtMatrixLayout_t la, lb, ld;
    LT(cublasLtMatrixLayoutCreate(&la, CUDA_R_32F, K, M, K));
    LT(cublasLtMatrixLayoutCreate(&lb, CUDA_R_32F, K, N, N));
    LT(cublasLtMatrixLayoutCreate(&ld, CUDA_R_32F, M, N, M));
    cublasLtOrder_t rows = CUBLASLT_ORDER_ROW;
    LT(cublasLtMatrixLayoutSetAttribute(lb, CUBLASLT_MATRIX_LAYOUT_ORDER, &rows, sizeof rows));
    int batch = 2; int64_t sa = M * K, sb = K * N, sd = M * N;
    cublasLtMatrixLayout_t of[] = {la, lb, ld}; int64_t strides[] = {sa, sb, sd};
    for (int i = 0; i < 3; i++) {
        LT(cublasLtMatrixLayoutSetAttribute(of[i], CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch));
        LT(cublasLtMatrixLayoutSetAttribute(of[i], CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &strides[i], sizeof strides[i]));
    }
    cublasLtMatmulPreference_t preference; LT(cublasLtMatmulPreferenceCreate(&preference));
    size_t bytes = 1 << 20, got = 0, written = 0;
    LT(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof bytes));
    LT(cublasLtMatmulPreferenceGetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &got, sizeof got, &written));
    cublasLtMatmulHeuristicResult_t found; int count = 0;
    LT(cublasLtMatmulAlgoGetHeuristic(lt, op, la, lb, ld, ld, preference, 1, &found, &count));
    printf("%d found, status %d, preference %d in %d\n", count, found.state, (int)got, (int)written);
    LT(cublasLtMatmul(lt, op, &alpha, da, la, db, lb, &beta, dd, ld, dd, ld, &found.algo, nullptr, 0, 0));
    cudaMemcpy(d.data(), dd, d.size() * sizeof(float), cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (int g = 0; g < 2; g++) for (int i = 0; i < M; i++) for (int j = 0; j < N; j++) {
        float sum = 0;
        for (int l = 0; l < K; l++) sum += a[g * sa + i * K + l] * b[g * sb + l * N + j];
        wrong += d[g * sd + j * M + i] != fmaxf(2 * sum + bias[i], 0);
    }
    printf("%d wrong\n", wrong);
    epilogue = CUBLASLT_EPILOGUE_DGELU;
    LT(cublasLtMatmulDescSetAttribute(op, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue));
    printf("backwards: %d\n", cublasLtMatmul(lt, op, &alpha, da, la, db, lb, &beta, dd, ld, dd, ld, nullptr, nullptr, 0, 0));
    printf("of another shape: %d\n", cublasLtMatmul(lt, op, &alpha, da, lb, db, la, &beta, dd, ld, dd, ld, nullptr, nullptr, 0, 0));
    LT(cublasLtMatmulPreferenceDestroy(preference));
    for (auto layout : of) LT(cublasLtMatrixLayoutDestroy(layout));
    LT(cublasLtMatmulDescDestroy(op));
    LT(cublasLtDestroy(lt));
    for (float *p : {da, db, dd, dbias}) cudaFree(p);
}
