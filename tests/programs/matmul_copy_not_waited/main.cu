#include <iostream>
#include <vector>
#include <cmath>
#include <cuda_runtime.h>
using namespace std;

const int TS = 16;

__global__ void block_mul(const float *a, const float *b, float *c, int n)
{
    __shared__ float as[TS][TS];
    __shared__ float bs[TS][TS];
    int ty = threadIdx.y, tx = threadIdx.x;
    int row = blockIdx.y * TS + ty, col = blockIdx.x * TS + tx;
    float acc = 0.0f;
    for (int t = 0; t < (n + TS - 1) / TS; ++t) {
        as[ty][tx] = row < n && t * TS + tx < n ? a[row * n + t * TS + tx] : 0.0f;
        bs[ty][tx] = col < n && t * TS + ty < n ? b[(t * TS + ty) * n + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TS; ++k)
            acc += as[ty][k] * bs[k][tx];
        __syncthreads();
    }
    if (row < n && col < n)
        c[row * n + col] = acc;
}

int main()
{
    const int n = 64;
    const size_t bytes = n * n * sizeof(float);
    float *a, *b, *c;
    cudaMallocHost(&a, bytes);
    cudaMallocHost(&b, bytes);
    cudaMallocHost(&c, bytes);
    for (int i = 0; i < n * n; ++i) { a[i] = i % 7; b[i] = i % 5; }
    float *da, *db, *dc;
    cudaMalloc(&da, bytes); cudaMalloc(&db, bytes); cudaMalloc(&dc, bytes);
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    cudaMemcpyAsync(da, a, bytes, cudaMemcpyHostToDevice, stream);
    cudaMemcpyAsync(db, b, bytes, cudaMemcpyHostToDevice, stream);
    block_mul<<<dim3((n + TS - 1) / TS, (n + TS - 1) / TS), dim3(TS, TS), 0, stream>>>(da, db, dc, n);
    if (cudaGetLastError() != cudaSuccess) { cerr << "launch failed" << endl; return 1; }
    cudaMemcpyAsync(c, dc, bytes, cudaMemcpyDeviceToHost, stream);
    float worst = 0;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            float s = 0;
            for (int k = 0; k < n; ++k) s += a[i * n + k] * b[k * n + j];
            worst = max(worst, fabs(s - c[i * n + j]));
        }
    cout << (worst < 1e-3f ? "Result is correct" : "Result is WRONG") << endl;
    cudaStreamDestroy(stream);
    cudaFree(da); cudaFree(db); cudaFree(dc);
    cudaFreeHost(a); cudaFreeHost(b); cudaFreeHost(c);
}
