#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>
#define TILE 16

__global__ void matmulNaive(const float *a, const float *b, float *c, int n) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < n && col < n) {
        float s = 0;
        for (int k = 0; k < n; ++k) s += a[row * n + k] * b[k * n + col];
        c[row * n + col] = s;
    }
}

__global__ void matmulRow(const float *a, const float *b, float *c, int n) {
    extern __shared__ float line[];
    int row = blockIdx.x;
    for (int k = threadIdx.x; k < n; k += blockDim.x) line[k] = a[row * n + k];
    __syncthreads();
    for (int col = threadIdx.x; col < n; col += blockDim.x) {
        float s = 0;
        for (int k = 0; k < n; ++k) s += line[k] * b[k * n + col];
        c[row * n + col] = s;
    }
}

__global__ void matmulBlock(const float *a, const float *b, float *c, int n) {
    __shared__ float as[TILE][TILE], bs[TILE][TILE];
    int col = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
    float s = 0;
    for (int t = 0; t < (n + TILE - 1) / TILE; ++t) {
        int ka = t * TILE + threadIdx.x, kb = t * TILE + threadIdx.y;
        as[threadIdx.y][threadIdx.x] = row < n && ka < n ? a[row * n + ka] : 0.f;
        bs[threadIdx.y][threadIdx.x] = kb < n && col < n ? b[kb * n + col] : 0.f;
        __syncthreads();
        for (int k = 0; k < TILE; ++k) s += as[threadIdx.y][k] * bs[k][threadIdx.x];
        __syncthreads();
    }
    if (row < n && col < n) c[row * n + col] = s;
}

static int check(const float *got, const float *want, int n, const char *what) {
    int bad = 0;
    for (int i = 0; i < n * n; ++i)
        if (fabs(got[i] - want[i]) > 1e-3 * n) ++bad;
    if (bad) printf("%s: error, %d elements differ\n", what, bad);
    else printf("%s: OK\n", what);
    return bad;
}

int main() {
    int n = 128;
    size_t bytes = n * n * sizeof(float);
    float *a = (float *)malloc(bytes), *b = (float *)malloc(bytes), *c = (float *)malloc(bytes), *ref = (float *)malloc(bytes);
    for (int i = 0; i < n * n; ++i) { a[i] = rand() % 8; b[i] = rand() % 8; }
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            float s = 0;
            for (int k = 0; k < n; ++k) s += a[i * n + k] * b[k * n + j];
            ref[i * n + j] = s;
        }
    float *da, *db, *dc;
    cudaMalloc(&da, bytes);
    cudaMalloc(&db, bytes);
    cudaMalloc(&dc, bytes);
    cudaMemcpy(da, a, bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(db, b, bytes, cudaMemcpyHostToDevice);
    dim3 block(TILE, TILE), grid((n + TILE - 1) / TILE, (n + TILE - 1) / TILE);

    matmulNaive<<<grid, block>>>(da, db, dc, n);
    if (cudaGetLastError() != cudaSuccess) return 1;
    cudaMemcpy(c, dc, bytes, cudaMemcpyDeviceToHost);
    int bad = check(c, ref, n, "naive");

    matmulRow<<<n, 64, n * sizeof(float)>>>(db, da, dc, n);
    if (cudaGetLastError() != cudaSuccess) return 1;
    cudaMemcpy(c, dc, bytes, cudaMemcpyDeviceToHost);
    bad += check(c, ref, n, "row");

    matmulBlock<<<grid, block>>>(da, db, dc, n);
    if (cudaGetLastError() != cudaSuccess) return 1;
    cudaMemcpy(c, dc, bytes, cudaMemcpyDeviceToHost);
    bad += check(c, ref, n, "block");

    cudaFree(da);
    cudaFree(db);
    cudaFree(dc);
    return bad != 0;
}
