#include "particle.h"

#include <cstdio>
#include <vector>

static __device__ int calls = 11;

__global__ void advanceParticles(float dt, particle *p, int n) {
    int i = threadIdx.x + blockDim.x * blockIdx.x;
    if (i < n) {
        p[i].advance(dt);
    }
    if (i == 0) {
        hits[1] += calls;
    }
}

template <typename T> __global__ void pick(T *out) {
    v3 v = {1, 2, 3};
    out[threadIdx.x] = (*picked)(twice((float)threadIdx.x)) + v.len() * scale;
}

int ownCalls(int n);

int main() {
    const int n = 300;
    std::vector<particle> host(n);
    particle *device;
    cudaMalloc(&device, n * sizeof(particle));
    cudaMemcpy(device, host.data(), n * sizeof(particle), cudaMemcpyHostToDevice);
    for (int i = 0; i < 3; i++) {
        advanceParticles<<<(n + 255) / 256, 256>>>(0.1f * (i + 1), device, n);
    }
    cudaMemcpy(host.data(), device, n * sizeof(particle), cudaMemcpyDeviceToHost);
    cudaFree(device);
    v3 total = host[17].getTotal();
    printf("%.4f %.4f %.4f\n", total.x, total.y, total.z);
    particle own;
    for (int i = 0; i < 3; i++) {
        own.advance(0.1f * (i + 1));
    }
    total = own.getTotal();
    printf("%.4f %.4f %.4f\n", total.x, total.y, total.z);
    int counted[2];
    cudaMemcpyFromSymbol(counted, hits, sizeof(counted));
    printf("%d %d\n", counted[0], counted[1]);
    int one = 1, now = 0;
    cudaMemcpyToSymbol(calls, &one, sizeof(one));
    cudaMemcpyFromSymbol(&now, calls, sizeof(now));
    printf("%d %d\n", now, ownCalls(3));
    float two = 2;
    cudaMemcpyToSymbol(scale, &two, sizeof(two));
    float *out;
    cudaMallocManaged(&out, 32 * sizeof(float));
    pick<float><<<1, 32>>>(out);
    cudaDeviceSynchronize();
    printf("%g %g %s\n", out[3], out[31], cudaGetErrorString(cudaGetLastError()));
    cudaFree(out);
}
