#include <cstdio>
#include <vector>
#define BS 128
__global__ void blurAcc(float* src, float* dst, int window, int threads, int len, float scale) {
    int i = blockIdx.x * threads + threadIdx.x;
    if (i >= len) return;
    if (i < window || i >= len - window) { dst[i] += src[i]; return; }
    for (int j = -window; j <= window; j++) dst[i] += src[i + j] * scale;
}
__global__ void blurShared(float* src, float* dst, int n, int r) {
    extern __shared__ float s[];
    int i = blockIdx.x * blockDim.x + threadIdx.x, l = threadIdx.x + r;
    if (i < n) s[l] = src[i];
    if (threadIdx.x < r) { if (i >= r) s[threadIdx.x] = src[i - r]; if (i + blockDim.x < n) s[l + blockDim.x] = src[i + blockDim.x]; }
    __syncthreads();
    if (i >= n) return;
    if (i < r || i >= n - r) { dst[i] = src[i]; return; }
    float a = 0; for (int j = -r; j <= r; j++) a += s[l + j];
    dst[i] = a / (2 * r + 1);
}
int main() {
    const int n = 4000; const int r = 2;
    std::vector<float> h(n); for (int i = 0; i < n; i++) h[i] = i % 10;
    float *a, *b; cudaMalloc(&a, n * sizeof(float)); cudaMalloc(&b, n * sizeof(float));
    cudaMemcpy(a, h.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemset(b, 0, n * sizeof(float));
    blurAcc<<<(n + BS - 1) / BS, BS>>>(a, b, r, BS, n, 1.0f / (2 * r + 1));
    cudaMemcpy(h.data(), b, n * sizeof(float), cudaMemcpyDeviceToHost);
    blurShared<<<(n + BS - 1) / BS, BS, (BS + 2 * r) * sizeof(float)>>>(a, b, n, r);
    cudaMemcpy(h.data(), b, n * sizeof(float), cudaMemcpyDeviceToHost);
    printf("%f\n", h[5]);
}
