// the input carries its halo, the output does not; divided
#include <cstdio>
#include <cmath>
#include <vector>
constexpr int R = 2;
__global__ void blur_naive(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s = 0;
    for (int k = 0; k <= 2 * R; ++k) s += in[i + k];
    out[i] = s / (2 * R + 1);
}
__global__ void blur_shared(const float *in, float *out, int n) {
    __shared__ float w[256 + 2 * R];
    int base = blockIdx.x * blockDim.x;
    for (int k = threadIdx.x; k < blockDim.x + 2 * R; k += blockDim.x) if (base + k < n + 2 * R) w[k] = in[base + k];
    __syncthreads();
    int i = base + threadIdx.x;
    if (i < n) { float s = 0; for (int k = 0; k <= 2 * R; ++k) s += w[threadIdx.x + k]; out[i] = s / (2 * R + 1); }
}
int main() {
    const int n = 1000;
    std::vector<float> a(n + 2 * R), b(n);
    for (size_t i = 0; i < a.size(); ++i) a[i] = (i * 37 % 101);
    float *da, *db;
    cudaMalloc(&da, a.size() * sizeof(float)); cudaMalloc(&db, n * sizeof(float));
    cudaMemcpy(da, a.data(), a.size() * sizeof(float), cudaMemcpyHostToDevice);
    blur_naive<<<(n + 255) / 256, 256>>>(da, db, n);
    cudaMemcpy(b.data(), db, n * sizeof(float), cudaMemcpyDeviceToHost);
    blur_shared<<<(n + 255) / 256, 256>>>(da, db, n);
    cudaMemcpy(b.data(), db, n * sizeof(float), cudaMemcpyDeviceToHost);
    int bad = 0;
    for (int i = 0; i < n; ++i) { float s = 0; for (int k = 0; k <= 2 * R; ++k) s += a[i + k]; bad += std::fabs(s / 5 - b[i]) > 1e-3; }
    printf("%d wrong\n", bad);
    cudaFree(da); cudaFree(db);
}
