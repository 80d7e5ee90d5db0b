// Lambdas with a qualifier, handed to kernels, and a kernel of the usual kind beside them.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

__constant__ float scale[2];
__device__ int counted;

#define CHECK(call)                                                            \
    do {                                                                       \
        cudaError_t error = (call);                                            \
        if (error != cudaSuccess) {                                            \
            printf("%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(error)); \
            return 1;                                                          \
        }                                                                      \
    } while (0)

template <class Function>
__global__ void for_each(int n, Function function) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) function(i);
}

template <class T, class Function>
__global__ void block_reduce(const T *in, T *out, int n, Function combine) {
    __shared__ T part[128];
    int i = threadIdx.x;
    part[i] = i < n ? in[i] : in[0];
    __syncthreads();
    for (int step = blockDim.x / 2; step > 0; step /= 2) {
        if (i < step) part[i] = combine(part[i], part[i + step]);
        __syncthreads();
    }
    if (i == 0) *out = part[0];
}

__global__ void doubled(float *data, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] *= 2;
}

int main() {
    const int n = 100;
    float factors[2] = {0.5f, 3.0f};
    CHECK(cudaMemcpyToSymbol(scale, factors, sizeof factors));
    float *data, *result;
    CHECK(cudaMalloc(&data, n * sizeof(float)));
    CHECK(cudaMalloc(&result, sizeof(float)));
    for_each<<<2, 64>>>(n, [=] __device__(int i) { data[i] = scale[0] * i; });
    doubled<<<1, 128>>>(data, n);
    auto wave = [=] __device__ __host__(float x) { return 1 + std::sqrt(x); };
    for_each<<<2, 64>>>(n, [=] __device__(int i) {
        data[i] = scale[1] * wave(data[i]) + 10 * sinf(i) + powf(1.5f, i % 3) + fmaxf(i, 50);
        if (i % 3 == 0) atomicAdd(&counted, 1);
    });
    CHECK(cudaGetLastError());
    std::vector<float> host(n);
    CHECK(cudaMemcpy(host.data(), data, n * sizeof(float), cudaMemcpyDeviceToHost));
    for (int i : {0, 1, 49, 99}) {
        float wanted = factors[1] * wave(i) + 10 * std::sin((float)i) + std::pow(1.5f, i % 3) + std::max(i, 50);
        printf("%d: %.3f %s\n", i, host[i], std::fabs(host[i] - wanted) < 1e-3f ? "as expected" : "WRONG");
    }
    block_reduce<<<1, 128>>>(data, result, n, [] __device__(float a, float b) { return a > b ? a : b; });
    float largest;
    CHECK(cudaMemcpy(&largest, result, sizeof largest, cudaMemcpyDeviceToHost));
    printf("largest %.3f %s\n", largest, largest == *std::max_element(host.begin(), host.end()) ? "ok" : "WRONG");
    int thirds;
    CHECK(cudaMemcpyFromSymbol(&thirds, counted, sizeof thirds));
    printf("%d thirds\n", thirds);
    CHECK(cudaFree(data));
    CHECK(cudaFree(result));
}
