#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
#include <cstdio>
#include <vector>
using namespace nvcuda;

__global__ void product(const half* a, const half* b, float* c, int n)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 0.0f);
    int row = blockIdx.y * 16, column = blockIdx.x * 16;
    for (int k = 0; k < n; k += 16) {
        wmma::load_matrix_sync(fa, a + row * n + k, n);
        wmma::load_matrix_sync(fb, b + k * n + column, n);
        wmma::mma_sync(fc, fa, fb, fc);
    }
    wmma::store_matrix_sync(c + row * n + column, fc, n, wmma::mem_row_major);
}

int main()
{
    const int n = 64;
    std::vector<half> a(n * n), b(n * n);
    std::vector<float> c(n * n);
    for (int i = 0; i < n * n; ++i) { a[i] = __float2half(i % 7 - 3); b[i] = __float2half(i % 5 - 2); }
    half *da, *db;
    float* dc;
    cudaMalloc(&da, n * n * sizeof(half));
    cudaMalloc(&db, n * n * sizeof(half));
    cudaMalloc(&dc, n * n * sizeof(float));
    cudaMemcpy(da, a.data(), n * n * sizeof(half), cudaMemcpyHostToDevice);
    cudaMemcpy(db, b.data(), n * n * sizeof(half), cudaMemcpyHostToDevice);
    product<<<dim3(n / 16, n / 16), 32>>>(da, db, dc, n);
    cudaMemcpy(c.data(), dc, n * n * sizeof(float), cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (int y = 0; y < n; ++y)
        for (int x = 0; x < n; ++x) {
            int sum = 0;
            for (int k = 0; k < n; ++k) sum += ((y * n + k) % 7 - 3) * ((k * n + x) % 5 - 2);
            wrong += c[y * n + x] != sum;
        }
    printf("%d wrong\n", wrong);
    printf("%g\n", __bfloat162float(__float2bfloat16(3.14159f)));
    cudaFree(da);
    cudaFree(db);
    cudaFree(dc);
}
