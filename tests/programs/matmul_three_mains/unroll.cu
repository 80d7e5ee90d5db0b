// Version 2: as version 0, four products a step.
#include <iostream>
#include <vector>
using namespace std;

__global__ void multiply(const float *A, const float *B, float *C, int n) {
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= n || col >= n) return;
    float sum = 0;
    int k = 0;
    for (; k + 4 <= n; k += 4) {
        sum += A[row * n + k] * B[k * n + col];
        sum += A[row * n + k + 1] * B[(k + 1) * n + col];
        sum += A[row * n + k + 2] * B[(k + 2) * n + col];
        sum += A[row * n + k + 3] * B[(k + 3) * n + col];
    }
    for (; k < n; k++) sum += A[row * n + k] * B[k * n + col];
    C[row * n + col] = sum;
}

int main() {
    int n = 192;
    vector<float> a(n * n, 2.f), b(n * n, 3.f), c(n * n);
    float *x, *y, *z;
    cudaMalloc(&x, n * n * sizeof(float));
    cudaMalloc(&y, n * n * sizeof(float));
    cudaMalloc(&z, n * n * sizeof(float));
    cudaMemcpy(x, &a[0], n * n * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(y, &b[0], n * n * sizeof(float), cudaMemcpyHostToDevice);
    multiply<<<dim3((n + 15) / 16, (n + 15) / 16), dim3(16, 16)>>>(x, y, z, n);
    cudaError_t error = cudaDeviceSynchronize();
    if (error != cudaSuccess) cerr << cudaGetErrorString(error) << endl;
    cudaMemcpy(&c[0], z, n * n * sizeof(float), cudaMemcpyDeviceToHost);
    bool ok = true;
    for (float v : c) ok = ok && v == 6.f * n;
    bool same = c == vector<float>(n * n, 6.f * n);
    cout << (ok && same ? "right" : "wrong") << endl;
    cudaFree(x); cudaFree(y); cudaFree(z);
    return 0;
}
