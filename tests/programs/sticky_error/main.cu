// A host pointer handed to a kernel: the context is lost, and every later call says so.
#include <stdio.h>
#include <stdlib.h>

__global__ void one(int* x) { x[threadIdx.x] = 1; }

// The first access ends it, so that nobody waits for ever.
__device__ bool* flags;
__global__ void waits(int n) {
    flags[n] = false;
    while (!flags[n]);
}

int main() {
    int* h = (int*)malloc(32 * sizeof(int));
    int *d, *e;
    cudaMalloc(&d, 32 * sizeof(int));
    one<<<1, 32>>>(h);
    printf("launch: %s\n", cudaGetErrorName(cudaPeekAtLastError()));
    printf("sync: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    printf("malloc: %s\n", cudaGetErrorName(cudaMalloc(&e, 4)));
    one<<<1, 32>>>(d);
    // What was not allocated any more holds no pointer: that follows from the first fault.
    one<<<1, 32>>>(h);
    printf("later: %s\n", cudaGetErrorName(cudaGetLastError()));
    cudaDeviceReset();
    printf("reset: %s\n", cudaGetErrorName(cudaGetLastError()));
    printf("nowhere: %s\n", cudaGetErrorName(cudaMalloc((void**)flags, 4)));
    waits<<<1, 32>>>(100);
    printf("waits: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    return 0;
}
