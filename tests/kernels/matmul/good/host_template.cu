// Launches stand in a template of the host's, called with two sizes.
#include <iostream>
#include <cstdlib>
template <int BLOCK>
__global__ void mul_simple(const float* a, const float* b, float* c, unsigned int n)
{
    unsigned row = blockIdx.y * BLOCK + threadIdx.y;
    unsigned col = blockIdx.x * BLOCK + threadIdx.x;
    if (row < n && col < n) {
        float acc = 0.f;
        for (unsigned k = 0; k < n; ++k) acc = fmaf(a[row * n + k], b[k * n + col], acc);
        c[row * n + col] = acc;
    }
}
template <int BLOCK>
__global__ void mul_shared(const float* a, const float* b, float* c, unsigned int n)
{
    __shared__ float sa[BLOCK][BLOCK];
    __shared__ float sb[BLOCK][BLOCK];
    unsigned row = blockIdx.y * BLOCK + threadIdx.y;
    unsigned col = blockIdx.x * BLOCK + threadIdx.x;
    float acc = 0.f;
    for (unsigned t = 0; t < (n + BLOCK - 1) / BLOCK; ++t) {
        sa[threadIdx.y][threadIdx.x] = row < n && t * BLOCK + threadIdx.x < n ? a[row * n + t * BLOCK + threadIdx.x] : 0.f;
        sb[threadIdx.y][threadIdx.x] = col < n && t * BLOCK + threadIdx.y < n ? b[(t * BLOCK + threadIdx.y) * n + col] : 0.f;
        __syncthreads();
        for (int k = 0; k < BLOCK; ++k) acc += sa[threadIdx.y][k] * sb[k][threadIdx.x];
        __syncthreads();
    }
    if (row < n && col < n) c[row * n + col] = acc;
}
template <int BLOCK, int U>
__global__ void mul_shared_unroll(const float* a, const float* b, float* c, unsigned int n)
{
    __shared__ float sa[BLOCK][BLOCK];
    __shared__ float sb[BLOCK][BLOCK];
    unsigned row = blockIdx.y * BLOCK + threadIdx.y;
    unsigned col = blockIdx.x * BLOCK + threadIdx.x;
    float acc = 0.f;
    for (unsigned t = 0; t < (n + BLOCK - 1) / BLOCK; ++t) {
        sa[threadIdx.y][threadIdx.x] = row < n && t * BLOCK + threadIdx.x < n ? a[row * n + t * BLOCK + threadIdx.x] : 0.f;
        sb[threadIdx.y][threadIdx.x] = col < n && t * BLOCK + threadIdx.y < n ? b[(t * BLOCK + threadIdx.y) * n + col] : 0.f;
        __syncthreads();
#pragma unroll U
        for (int k = 0; k < BLOCK; ++k) acc += sa[threadIdx.y][k] * sb[k][threadIdx.x];
        __syncthreads();
    }
    if (row < n && col < n) c[row * n + col] = acc;
}
template <int BLOCK>
void launch_all(const float* a, const float* b, float* c, unsigned int n)
{
    dim3 block(BLOCK, BLOCK);
    dim3 grid((n + BLOCK - 1) / BLOCK, (n + BLOCK - 1) / BLOCK);
    mul_simple<BLOCK><<<grid, block>>>(a, b, c, n);
    mul_shared<BLOCK><<<grid, block>>>(a, b, c, n);
    mul_shared_unroll<BLOCK, 4><<<grid, block>>>(a, b, c, n);
}
int main(int argc, char** argv)
{
    unsigned n = argc > 1 ? std::atoi(argv[1]) : 512;
    float *a, *b, *c;
    cudaMalloc(&a, n * n * sizeof *a); cudaMalloc(&b, n * n * sizeof *b); cudaMalloc(&c, n * n * sizeof *c);
    launch_all<16>(a, b, c, n);
    launch_all<32>(a, b, c, n);
    std::cout << cudaGetErrorString(cudaDeviceSynchronize()) << std::endl;
}
