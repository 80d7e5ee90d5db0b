// A kernel that waits until the host opens a latch, and one that waits for nobody.
#include <cstdio>

__global__ void wait_for(volatile int *latch, int *out) {
    while (*latch == 0);
    *out = *latch;
}

int main() {
    int *latch, *out;
    cudaMallocManaged(&latch, sizeof(int));
    cudaMalloc(&out, sizeof(int));
    *latch = 1;
    wait_for<<<1, 1>>>(latch, out);
    cudaDeviceSynchronize();
    puts("open");
    *latch = 0;
    wait_for<<<1, 1>>>(latch, out);
    *latch = 2;
    puts("opened");
    return cudaDeviceSynchronize();
}
