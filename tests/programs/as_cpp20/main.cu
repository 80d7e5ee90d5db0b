#include <algorithm>
#include <concepts>
#include <cstdio>
#include <numbers>
#include <ranges>
#include <span>
#include <vector>

template <typename T>
concept Number = std::integral<T> || std::floating_point<T>;

template <Number T>
__host__ __device__ consteval T twice(T x) { return 2 * x; }

template <Number T>
__global__ void scale(T *p, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] *= twice(T(3));
}

static double sum(std::span<const double> all) {
    double s = 0;
    for (double x : all) s += x;
    return s;
}

int main() {
    std::vector<double> h(100);
    std::ranges::fill(h, std::numbers::pi);
    double *d;
    cudaMalloc(&d, h.size() * sizeof(double));
    cudaMemcpy(d, h.data(), h.size() * sizeof(double), cudaMemcpyHostToDevice);
    scale<<<1, 128>>>(d, 100);
    cudaMemcpy(h.data(), d, h.size() * sizeof(double), cudaMemcpyDeviceToHost);
    printf("%.4f %d\n", sum(h), h[0] <=> h[1] == 0);
    cudaFree(d);
}
