// D = 3A + 4B + A*B: the product by the library, the rest by kernels.
#include <cublas_v2.h>
#include <stdio.h>
#include <vector>

__global__ void timesConst(const float *x, float factor, int n, float *y);
__global__ void addMat(const float *x, const float *y, int n, float *z);

static void product(const float *x, const float *y, float *z, int n) {
    cublasHandle_t handle;
    cublasCreate(&handle);
    const float one = 1, none = 0;
    // Columns first: the transposed product of the transposed.
    cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, y, n, x, n, &none, z, n);
    cublasDestroy(handle);
}

int main() {
    const int n = 32;
    std::vector<float> a(n * n, 1), b(n * n, 2), d(n * n);
    float *da, *db, *dd;
    cudaMalloc(&da, n * n * sizeof(float));
    cudaMalloc(&db, n * n * sizeof(float));
    cudaMalloc(&dd, n * n * sizeof(float));
    cudaMemcpy(da, a.data(), n * n * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(db, b.data(), n * n * sizeof(float), cudaMemcpyHostToDevice);
    product(da, db, dd, n);
    dim3 threads(16, 16), blocks(n / 16, n / 16);
    timesConst<<<blocks, threads>>>(da, 3, n, da);
    timesConst<<<blocks, threads>>>(db, 4, n, db);
    addMat<<<blocks, threads>>>(da, db, n, dd);
    cudaMemcpy(d.data(), dd, n * n * sizeof(float), cudaMemcpyDeviceToHost);
    printf("%g %g\n", d[0], d[n * n - 1]);
    cudaFree(da);
    cudaFree(db);
    cudaFree(dd);
}

__global__ void timesConst(const float *x, float factor, int n, float *y) {
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && j < n) y[i * n + j] = factor * x[i * n + j];
}

__global__ void addMat(const float *x, const float *y, int n, float *z) {
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && j < n) z[i * n + j] = x[i * n + j] + y[i * n + j] + z[i * n + j];
}
