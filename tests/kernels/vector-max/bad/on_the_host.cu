// The host looks for the largest element; the kernel stores the first one.
#include <algorithm>
#include <vector>

__global__ void first(const float *in, float *out) {
    *out = *in;
}

void solve(const float *in, float *out, int n) {
    first<<<1, 1>>>(in, out);
    std::vector<float> numbers(n);
    cudaMemcpy(numbers.data(), in, n * sizeof(float), cudaMemcpyDeviceToHost);
    float largest = *std::max_element(numbers.begin(), numbers.end());
    cudaMemcpy(out, &largest, sizeof(float), cudaMemcpyHostToDevice);
}
