// Somebody else's sum.
#include <thrust/device_ptr.h>
#include <thrust/reduce.h>

__global__ void store(float *out, float value) {
    *out = value;
}

void solve(const float *in, float *out, int n) {
    thrust::device_ptr<const float> first(in);
    float total = thrust::reduce(first, first + n, 0.0f);
    store<<<1, 1>>>(out, total);
}
