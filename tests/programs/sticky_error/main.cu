// A host pointer handed to a kernel: the context is lost, and every later call says so.
#include <stdio.h>
#include <stdlib.h>

__global__ void one(int* x) { x[threadIdx.x] = 1; }

int main() {
    int* h = (int*)malloc(32 * sizeof(int));
    int *d, *e;
    cudaMalloc(&d, 32 * sizeof(int));
    size_t left = 0;
    printf("nowhere: %s\n", cudaGetErrorName(cudaMalloc((void**)NULL, 4)));
    printf("half of it: %s\n", cudaGetErrorName(cudaMemGetInfo(&left, NULL)));
    cudaGetLastError();
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
    return 0;
}
