#include "particle.h"

#include <cmath>

static __device__ int calls = 5;
__constant__ float scale;

__host__ __device__ v3::v3() { x = y = z = 1; }
__host__ __device__ v3::v3(float a, float b, float c) : x(a), y(b), z(c) {}

__host__ __device__ void v3::normalize() {
    float t = sqrtf(x * x + y * y + z * z);
    x /= t;
    y /= t;
    z /= t;
}

__host__ __device__ void v3::scramble() {
    float tx = 0.317f * (x + 1) + y + z * x * x + y + z;
    float ty = 0.619f * (y + 1) + y * y + x * y * z + y + x;
    float tz = 0.124f * (z + 1) + z * y + x * y * z + y + x;
    x = tx;
    y = ty;
    z = tz;
}

__device__ float v3::len() const { return x * x + y * y + z * z + calls; }

// The same name as in main.cu, and a kernel and a variable of this file alone.
static __global__ void advanceParticles(int *out, int n) { out[0] = n * calls; }

int ownCalls(int n) {
    int four = 4;
    cudaMemcpyToSymbol(calls, &four, sizeof(four));
    int *out, result = 0;
    cudaMalloc(&out, sizeof(int));
    advanceParticles<<<1, 1>>>(out, n);
    cudaMemcpy(&result, out, sizeof(int), cudaMemcpyDeviceToHost);
    cudaFree(out);
    return result;
}
