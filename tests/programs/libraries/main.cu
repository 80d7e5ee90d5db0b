// cuBLAS and cuRAND beside a kernel; the samples' helper headers; a stop watch.
#include <cublas_v2.h>
#include <curand.h>
#include <helper_cuda.h>
#include <helper_functions.h>
#include <cmath>
#include <cstdio>

__global__ void scale(float* x, int n, float by) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= by;
}

int main(int argc, char** argv) {
    const int m = 3, k = 4, n = 2;
    float a[m * k], b[k * n], c[m * n];
    for (int i = 0; i < m * k; i++) a[i] = i;
    for (int i = 0; i < k * n; i++) b[i] = 1 + i;
    float *da, *db, *dc, *dr, one = 1, zero = 0, dot = 0, norm = 0;
    checkCudaErrors(cudaMalloc(&da, sizeof a));
    checkCudaErrors(cudaMalloc(&db, sizeof b));
    checkCudaErrors(cudaMalloc(&dc, sizeof c));
    checkCudaErrors(cudaMalloc(&dr, 1000 * sizeof(float)));
    cublasHandle_t handle;
    if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) return 1;
    cublasSetMatrix(m, k, sizeof(float), a, m, da, m);
    cublasSetMatrix(k, n, sizeof(float), b, k, db, k);
    StopWatchInterface* timer;
    sdkCreateTimer(&timer);
    sdkStartTimer(&timer);
    cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, da, m, db, k, &zero, dc, m);
    scale<<<1, 32>>>(dc, m * n, 0.5f);
    getLastCudaError("scale");
    checkCudaErrors(cudaDeviceSynchronize());
    sdkStopTimer(&timer);
    checkCudaErrors(cudaMemcpy(c, dc, sizeof c, cudaMemcpyDeviceToHost));
    printf("%g %g %d\n", c[0], c[5], sdkGetTimerValue(&timer) > 0);
    cublasSdot(handle, k, da, 1, db, 1, &dot);
    cublasSaxpy(handle, k, &one, da, 1, db, 1);
    cublasSnrm2(handle, k * n, db, 1, &norm);
    printf("%g %d\n", dot, (int)std::lround(norm * 1000));
    curandGenerator_t generator;
    curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_DEFAULT);
    curandSetPseudoRandomGeneratorSeed(generator, 1234ULL);
    curandGenerateUniform(generator, dr, 1000);
    float r[1000], sum = 0;
    checkCudaErrors(cudaMemcpy(r, dr, sizeof r, cudaMemcpyDeviceToHost));
    for (float x : r) sum += x;
    printf("%d %d\n", sum > 450 && sum < 550, (int)cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, da, 1, db, k, &zero, dc, m));
    curandDestroyGenerator(generator);
    cublasDestroy(handle);
    sdkDeleteTimer(&timer);
    cudaFree(da);
    cudaFree(db);
    cudaFree(dc);
    cudaFree(dr);
    return checkCmdLineFlag(argc, (const char**)argv, "fail") ? getCmdLineArgumentInt(argc, (const char**)argv, "fail") : 0;
}
