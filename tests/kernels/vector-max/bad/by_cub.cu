// Somebody else's reduction.
#include <cub/cub.cuh>

void solve(const float *in, float *out, int n) {
    void *room = nullptr;
    size_t bytes = 0;
    cub::DeviceReduce::Max(room, bytes, in, out, n);
    cudaMalloc(&room, bytes);
    cub::DeviceReduce::Max(room, bytes, in, out, n);
    cudaFree(room);
}
