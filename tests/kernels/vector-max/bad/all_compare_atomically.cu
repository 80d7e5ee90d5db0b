// Every thread has its own turn at one address.
#include <cmath>

__device__ void raise(float *to, float value) {
    if (value >= 0) {
        atomicMax((int *)to, __float_as_int(value));
    } else {
        atomicMin((unsigned *)to, __float_as_uint(value));
    }
}

__global__ void begin(float *out) {
    *out = -INFINITY;
}

__global__ void largest(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) raise(out, in[i]);
}

void solve(const float *in, float *out, int n) {
    begin<<<1, 1>>>(out);
    largest<<<(n + 255) / 256, 256>>>(in, out, n);
}
