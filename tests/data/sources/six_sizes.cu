#include "wb.h"
#define TS 16
typedef unsigned int index_t;
struct Shape { int rows, cols; Shape(int r, int c) : rows(r), cols(c) {} };

__device__ float madd(float a, float b, float c) { return a * b + c; }

int clampIndex(int i, int n) { return i < n ? i : n - 1; }

__global__ void matrixMultiplyShared(float *A, float *B, float *C, int numARows, int numACols,
                                     int numBRows, int numBCols, int numCRows, int numCCols) {
    __shared__ float sA[TS][TS], sB[TS][TS];
    int row = blockIdx.y * TS + threadIdx.y, col = blockIdx.x * TS + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < (numACols - 1) / TS + 1; ++t) {
        sA[threadIdx.y][threadIdx.x] = A[clampIndex(row, numARows) * numACols + t * TS + threadIdx.x];
        sB[threadIdx.y][threadIdx.x] = B[(t * TS + threadIdx.y) * numBCols + col];
        __syncthreads();
        for (int k = 0; k < TS; ++k) sum = madd(sA[threadIdx.y][k], sB[k][threadIdx.x], sum);
        __syncthreads();
    }
    if (row < numCRows && col < numCCols) C[row * numCCols + col] = sum;
}

template <int W> __global__ void multiply(index_t n, const float *x, const float *y, float *z) {
    unsigned r = blockIdx.y * W + threadIdx.y, c = blockIdx.x * W + threadIdx.x;
    float sum = 0;
    for (index_t k = 0; k < n; ++k) sum += x[r * n + k] * y[k * n + c];
    z[r * n + c] = sum;
}

int main(int argc, char **argv) {
    Shape s(64, 64);
    float *a = 0, *b = 0, *c = 0;
    dim3 block = {TS, TS};
    dim3 grid(ceil(s.cols / (double)TS), ceil((float)s.rows / TS));
    matrixMultiplyShared<<<grid, block>>>(a, b, c, 64, 64, 64, 64, 64, 64);
    multiply<8><<<dim3(8, 8), dim3(8, 8)>>>(64u, a, b, c);
    wbCheck(cudaGetLastError());
}
