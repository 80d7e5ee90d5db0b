// A clock of the host's around launches: once read too early, once right; the CPU's own time is positive.
#include <chrono>
#include <cstdio>
#include <ctime>
#include <vector>

__global__ void saxpy(int n, float a, const float* x, float* y) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) y[i] = a * x[i] + y[i];
}

int main() {
    const int n = 1 << 12;
    std::vector<float> x(n, 1.f), y(n, 2.f);
    float *dx, *dy;
    cudaMalloc(&dx, n * sizeof(float));
    cudaMalloc(&dy, n * sizeof(float));
    cudaMemcpy(dx, x.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(dy, y.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    auto t0 = std::chrono::steady_clock::now();
    saxpy<<<4, 256>>>(n, 2.f, dx, dy);
    auto t1 = std::chrono::steady_clock::now();
    cudaDeviceSynchronize();
    clock_t c0 = clock();
    saxpy<<<8, 256>>>(n, 2.f, dx, dy);
    cudaDeviceSynchronize();
    clock_t c1 = clock();
    printf("%d %d\n", t1 > t0, c1 > c0);
    // What a launch costs, beside the whole time: read early on purpose.
    auto l0 = std::chrono::steady_clock::now();
    saxpy<<<2, 256>>>(n, 2.f, dx, dy);
    auto l1 = std::chrono::steady_clock::now();
    cudaDeviceSynchronize();
    auto l2 = std::chrono::steady_clock::now();
    printf("%d\n", l1 - l0 <= l2 - l0);
    timespec raw, thread, process;
    if (clock_gettime(CLOCK_MONOTONIC_RAW, &raw) || clock_gettime(CLOCK_THREAD_CPUTIME_ID, &thread)) return 2;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &process)) return 2;
    cudaFree(dx);
    cudaFree(dy);
    return 0;
}
