#include <cstdio>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>

// three attempts, numbered as I wrote them

__global__ void kernel1(const float* src, float* dst, int h, int w)
{
    __shared__ float block[32][33];
    const int r = blockIdx.y * 32 + threadIdx.y, c = blockIdx.x * 32 + threadIdx.x;
    if (r < h && c < w) block[threadIdx.y][threadIdx.x] = src[r * w + c];
    __syncthreads();
    const int r2 = blockIdx.x * 32 + threadIdx.y, c2 = blockIdx.y * 32 + threadIdx.x;
    if (r2 < w && c2 < h) dst[r2 * h + c2] = block[threadIdx.x][threadIdx.y];
}

__global__ void kernel2(const float* src, float* dst, int h, int w)
{
    const int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= h || c >= w) return;
    dst[c * h + r] = src[r * w + c];
}

__global__ void kernel3(const float* src, float* dst, int h, int w)
{
    __shared__ float block[32][32];
    const int r = blockIdx.y * 32 + threadIdx.y, c = blockIdx.x * 32 + threadIdx.x;
    if (r < h && c < w) block[threadIdx.y][threadIdx.x] = src[r * w + c];
    __syncthreads();
    const int r2 = blockIdx.x * 32 + threadIdx.y, c2 = blockIdx.y * 32 + threadIdx.x;
    if (r2 < w && c2 < h) dst[r2 * h + c2] = block[threadIdx.x][threadIdx.y];
}

int main()
{
    const int h = 50, w = 90;
    std::vector<float> a(h * w), t(h * w);
    for (size_t i = 0; i < a.size(); ++i) a[i] = 0.5f * i;
    float *src = nullptr, *dst = nullptr;
    if (cudaMalloc(&src, a.size() * 4) || cudaMalloc(&dst, a.size() * 4)) { puts("no memory"); return 1; }
    if (cudaMemcpy(src, a.data(), a.size() * 4, cudaMemcpyHostToDevice)) return 1;
    const dim3 block{32, 32}, grid{(w + 31) / 32, (h + 31) / 32};
    int bad = 0;
    for (int k = 1; k <= 3; ++k) {
        if (k == 1) kernel1<<<grid, block>>>(src, dst, h, w);
        if (k == 2) kernel2<<<grid, block>>>(src, dst, h, w);
        if (k == 3) kernel3<<<grid, block>>>(src, dst, h, w);
        if (cudaMemcpy(t.data(), dst, t.size() * 4, cudaMemcpyDeviceToHost)) { puts("failed"); return 1; }
        for (int r = 0; r < h; ++r)
            for (int c = 0; c < w; ++c) bad += t[c * h + r] != a[r * w + c];
        printf("kernel%d: %d wrong\n", k, bad);
    }
    cudaFree(src);
    cudaFree(dst);
    return bad != 0;
}
