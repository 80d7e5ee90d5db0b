// Products by cuBLASLt's descriptors beside loops of the host.
#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
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
// D = last step of (alpha Aᵀ B + beta C) in one type of data after another; C stays as it was.
template <class In, class Out, class Scale>
void print_product(cublasLtHandle_t lt, const char *name, cublasComputeType_t compute, cudaDataType_t scale, cudaDataType_t in,
                   cudaDataType_t out, cublasLtEpilogue_t epilogue, Scale alpha, Scale beta) {
    // Tensor cores take numbers of 8 bits in rows of 16 bytes.
    const bool is_8_bits = sizeof(In) == 1 && sizeof(Out) == 2;
    const int m = is_8_bits ? 16 : 4, n = m, k = is_8_bits ? 32 : 8;
    std::vector<In> a(m * k), b(k * n);
    std::vector<Out> c(m * n), d(m * n), bias(m);
    for (int i = 0; i < m * k; i++) a[i] = (In)(float)(i * 7 % 11 - 5);
    for (int i = 0; i < k * n; i++) b[i] = (In)(float)(i * 5 % 9 - 4);
    for (int i = 0; i < m * n; i++) c[i] = (Out)(float)(i * 3 % 7 - 3);
    for (int i = 0; i < m; i++) bias[i] = (Out)(float)(i - 1);
    In *da = device(a), *db = device(b);
    Out *dc = device(c), *dd = device(d), *dbias = device(bias);
    cublasLtMatmulDesc_t op; LT(cublasLtMatmulDescCreate(&op, compute, scale));
    cublasOperation_t t = CUBLAS_OP_T;
    LT(cublasLtMatmulDescSetAttribute(op, CUBLASLT_MATMUL_DESC_TRANSA, &t, sizeof t));
    LT(cublasLtMatmulDescSetAttribute(op, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue));
    if (epilogue & CUBLASLT_EPILOGUE_BIAS)
        LT(cublasLtMatmulDescSetAttribute(op, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &dbias, sizeof dbias));
    cublasLtMatrixLayout_t la, lb, ld;
    LT(cublasLtMatrixLayoutCreate(&la, in, k, m, k));
    LT(cublasLtMatrixLayoutCreate(&lb, in, k, n, k));
    LT(cublasLtMatrixLayoutCreate(&ld, out, m, n, m));
    cublasLtMatmulPreference_t preference; LT(cublasLtMatmulPreferenceCreate(&preference));
    cublasLtMatmulHeuristicResult_t found; int count = 0;
    LT(cublasLtMatmulAlgoGetHeuristic(lt, op, la, lb, ld, ld, preference, 1, &found, &count));
    LT(cublasLtMatmulPreferenceDestroy(preference));
    LT(cublasLtMatmul(lt, op, &alpha, da, la, db, lb, &beta, dc, ld, dd, ld, &found.algo, nullptr, 0, 0));
    cudaMemcpy(d.data(), dd, d.size() * sizeof(Out), cudaMemcpyDeviceToHost);
    printf("%s:", name);
    for (int i = 0; i < 16; i++) printf(" %.4f", (double)(float)d[i]);
    printf("\n");
    for (auto layout : {la, lb, ld}) LT(cublasLtMatrixLayoutDestroy(layout));
    LT(cublasLtMatmulDescDestroy(op));
    cudaFree(da); cudaFree(db); cudaFree(dc); cudaFree(dd); cudaFree(dbias);
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
    printf("backwards: %d\n", cublasLtMatmul(lt, op, &alpha, da, la, db, lb, &beta, dd, ld, dd, ld, nullptr, nullptr, 0, 0) != CUBLAS_STATUS_SUCCESS);
    printf("of another shape: %d\n", cublasLtMatmul(lt, op, &alpha, da, lb, db, la, &beta, dd, ld, dd, ld, nullptr, nullptr, 0, 0));
    epilogue = CUBLASLT_EPILOGUE_RELU;
    LT(cublasLtMatmulDescSetAttribute(op, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue));
    printf("a bias that is not added: %d\n", cublasLtMatmul(lt, op, &alpha, da, la, db, lb, &beta, dd, ld, dd, ld, nullptr, nullptr, 0, 0));
    print_product<float, float>(lt, "GELU", CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLASLT_EPILOGUE_GELU, 0.05f, 0.0f);
    print_product<float, float>(lt, "GELU, bias, C", CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLASLT_EPILOGUE_GELU_BIAS, 0.05f, -0.5f);
    print_product<half, half>(lt, "half", CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16F, CUDA_R_16F, CUBLASLT_EPILOGUE_BIAS, 0.125f, 0.5f);
    print_product<half, half>(lt, "half alone", CUBLAS_COMPUTE_16F, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, CUBLASLT_EPILOGUE_DEFAULT, __float2half(0.125f), __float2half(3.0f));
    print_product<signed char, int>(lt, "integers", CUBLAS_COMPUTE_32I, CUDA_R_32I, CUDA_R_8I, CUDA_R_32I, CUBLASLT_EPILOGUE_DEFAULT, 3, -2);
    print_product<__nv_bfloat16, __nv_bfloat16, float>(lt, "bfloat16", CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16BF, CUDA_R_16BF, CUBLASLT_EPILOGUE_BIAS, 0.03f, 0.7f);
    print_product<__nv_fp8_e4m3, __nv_bfloat16, float>(lt, "8 bits", CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLASLT_EPILOGUE_DEFAULT, 1.03f, 0.f);
    LT(cublasLtMatmulPreferenceDestroy(preference));
    for (auto layout : of) LT(cublasLtMatrixLayoutDestroy(layout));
    LT(cublasLtMatmulDescDestroy(op));
    LT(cublasLtDestroy(lt));
    for (float *p : {da, db, dd, dbias}) cudaFree(p);
}
