#include <iostream>
#include <vector>
#include <cmath>
#include <cstdlib>

static const int R = 2;

// сглаживание: среднее по окну, начинающемуся в точке i
__global__ void smooth(const float *x, float *y, int n)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i >= n) return;
    if (i + 2 * R >= n) { y[i] = x[i]; return; }
    float s = 0.f;
    for (int k = 0; k <= 2 * R; ++k) s += x[i + k];
    y[i] = s / (2 * R + 1);
}

int main()
{
    int n = 500;
    std::vector<float> x(n), y(n);
    for (int i = 0; i < n; ++i) x[i] = 50 + 50 * std::sin(0.1f * i);
    float *dx = 0, *dy = 0;
    if (cudaMalloc(&dx, n * sizeof(float)) != cudaSuccess) return 1;
    if (cudaMalloc(&dy, n * sizeof(float)) != cudaSuccess) return 1;
    cudaMemcpy(dx, &x[0], n * sizeof(float), cudaMemcpyHostToDevice);
    int bs = 128;
    smooth<<<n / bs + 1, bs>>>(dx, dy, n);
    cudaError_t err = cudaDeviceSynchronize();
    if (err) { std::cerr << cudaGetErrorString(err) << "\n"; return 1; }
    cudaMemcpy(&y[0], dy, n * sizeof(float), cudaMemcpyDeviceToHost);
    int bad = 0;
    for (int i = 0; i + 2 * R < n; ++i) {
        float s = 0;
        for (int k = 0; k < 5; ++k) s += x[i + k];
        if (std::fabs(y[i] - s / 5) > 1e-3f) ++bad;
    }
    std::cout << "ошибок " << bad << std::endl;
    cudaFree(dx);
    cudaFree(dy);
    return bad;
}
