// An atomic operation of its own, by compare and swap.
#include <cmath>

__device__ void raise(float *to, float value) {
    int seen = *(volatile int *)to;
    while (value > __int_as_float(seen)) {
        int before = atomicCAS((int *)to, seen, __float_as_int(value));
        if (before == seen) break;
        seen = before;
    }
}

__global__ void begin(float *out) {
    *out = -INFINITY;
}

__global__ void largest(const float *in, float *out, int n) {
    __shared__ float part[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    part[threadIdx.x] = i < n ? in[i] : -INFINITY;
    __syncthreads();
    for (int k = 128; k > 0; k /= 2) {
        if (threadIdx.x < k) part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + k]);
        __syncthreads();
    }
    if (threadIdx.x == 0) raise(out, part[0]);
}

void solve(const float *in, float *out, int n) {
    begin<<<1, 1>>>(out);
    largest<<<(n + 255) / 256, 256>>>(in, out, n);
}
