// Somebody else's scan.
#include <thrust/device_ptr.h>
#include <thrust/scan.h>

void solve(const float *in, float *out, int n) {
    thrust::device_ptr<const float> first(in);
    thrust::inclusive_scan(first, first + n, thrust::device_ptr<float>(out));
}
