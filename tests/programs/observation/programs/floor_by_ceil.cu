// The grid: ceil() of a division of integers, which is rounded down before ceil() sees it.
#include <cmath>
#include <cstdio>
#include <vector>

__global__ void blurNaive(const float *in, float *out, int n, int radius)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (i < radius || i >= n - radius) { out[i] = in[i]; return; }
    float sum = 0;
    for (int j = -radius; j <= radius; ++j) sum += in[i + j];
    out[i] = sum / (2 * radius + 1);
}

int main()
{
    int n = 1 << 12, radius = 2, threads = 256;
    std::vector<float> h(n, 1.0f);
    float *in, *out;
    cudaMalloc(&in, n * sizeof(float));
    cudaMalloc(&out, n * sizeof(float));
    cudaMemcpy(in, h.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    int blocks = ceil(n / threads);
    blurNaive<<<blocks, threads>>>(in, out, n, radius);
    cudaMemcpy(h.data(), out, n * sizeof(float), cudaMemcpyDeviceToHost);
    printf("%f\n", h[0]);
}
