// Arrays with a margin of RADIUS elements on either side, so that no thread asks where the vector ends: right by itself.
#include <cmath>
#include <cstdio>
#include <vector>

constexpr int RADIUS = 2, THREADS = 64;

__global__ void blur(const float* in, float* out, int count, int radius) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    float sum = 0;
    for (int k = -radius; k <= radius; k++)
        sum += in[i + radius + k];
    out[i] = sum / (2 * radius + 1);
}

int main() {
    const int count = 1000, padded = count + 2 * RADIUS;
    std::vector<float> in(padded, 0.f), out(count);
    for (int i = 0; i < count; i++) in[i + RADIUS] = i % 17;
    float *d_in, *d_out;
    cudaMalloc(&d_in, padded * sizeof(float));
    cudaMalloc(&d_out, count * sizeof(float));
    cudaMemcpy(d_in, in.data(), padded * sizeof(float), cudaMemcpyHostToDevice);
    blur<<<(count + THREADS - 1) / THREADS, THREADS>>>(d_in, d_out, count, RADIUS);
    if (cudaGetLastError() != cudaSuccess) return 1;
    cudaMemcpy(out.data(), d_out, count * sizeof(float), cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (int i = 0; i < count; i++) {
        float sum = 0;
        for (int k = 0; k <= 2 * RADIUS; k++) sum += in[i + k];
        wrong += std::fabs(out[i] - sum / (2 * RADIUS + 1)) > 1e-4f;
    }
    printf("%d wrong\n", wrong);
    cudaFree(d_in);
    cudaFree(d_out);
    return wrong != 0;
}
