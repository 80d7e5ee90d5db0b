// A whole program, with a main that tries the function.
#include <cmath>
#include <cstdio>
#include <vector>

__global__ void saxpy(float a, const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = a * x[i] + y[i];
    }
}

void solve(float a, const float *x, float *y, int n) {
    int threads = 256;
    saxpy<<<(n + threads - 1) / threads, threads>>>(a, x, y, n);
    cudaDeviceSynchronize();
}

int main() {
    const int n = 1000;
    std::vector<float> x(n, 1.0f), y(n, 2.0f);
    float *d_x, *d_y;
    cudaMalloc(&d_x, n * sizeof(float));
    cudaMalloc(&d_y, n * sizeof(float));
    cudaMemcpy(d_x, x.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(d_y, y.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    solve(3.0f, d_x, d_y, n);
    cudaMemcpy(y.data(), d_y, n * sizeof(float), cudaMemcpyDeviceToHost);
    printf("%s\n", std::fabs(y[n - 1] - 5.0f) < 1e-6f ? "PASSED" : "FAILED");
    cudaFree(d_x);
    cudaFree(d_y);
}
