#include <curand_kernel.h>
#include <curand.h>
#include <cstdio>
#include <cmath>
#include <numeric>
#include <vector>

// Число пи методом Монте-Карло: генератор в каждом потоке

__global__ void setup(curandState* states, unsigned long long seed)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    curand_init(seed, id, 0, &states[id]);
}

__global__ void throwPoints(curandState* states, unsigned* hits, int tries)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    curandState local = states[id];
    unsigned inside = 0;
    for (int t = 0; t < tries; ++t) {
        float x = curand_uniform(&local), y = curand_uniform(&local);
        inside += x * x + y * y <= 1.0f;
    }
    states[id] = local;
    hits[id] = inside;
}

int main()
{
    const int blocks = 4, threads = 64, tries = 50, total = blocks * threads;
    curandState* states;
    unsigned* hits;
    cudaMalloc(&states, total * sizeof(curandState));
    cudaMalloc(&hits, total * sizeof(unsigned));
    setup<<<blocks, threads>>>(states, 1234ULL);
    throwPoints<<<blocks, threads>>>(states, hits, tries);
    std::vector<unsigned> h(total);
    if (cudaMemcpy(h.data(), hits, total * sizeof(unsigned), cudaMemcpyDeviceToHost) != cudaSuccess) {
        std::printf("failed\n");
        return 1;
    }
    unsigned long long sum = std::accumulate(h.begin(), h.end(), 0ULL);
    double pi = 4.0 * sum / (double(total) * tries);
    std::printf("%s\n", std::fabs(pi - M_PI) < 0.1 ? "похоже на пи" : "не похоже");
    cudaFree(states);
    cudaFree(hits);
}
