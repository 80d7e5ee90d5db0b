// Hillis and Steele in global memory: a launch a step, between two buffers.
#include <utility>

__global__ void step(const float *from, float *to, int n, int distance)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i >= n)
        return;
    to[i] = i >= distance ? from[i] + from[i - distance] : from[i];
}

void solve(const float *in, float *out, int n)
{
    const int threads = 512, blocks = (n + threads - 1) / threads;
    float *other;
    cudaMalloc(&other, n * sizeof(float));
    cudaMemcpy(out, in, n * sizeof(float), cudaMemcpyDeviceToDevice);
    float *from = out, *to = other;
    for (int distance = 1; distance < n; distance *= 2) {
        step<<<blocks, threads>>>(from, to, n, distance);
        std::swap(from, to);
    }
    if (from != out)
        cudaMemcpy(out, from, n * sizeof(float), cudaMemcpyDeviceToDevice);
    cudaFree(other);
}
