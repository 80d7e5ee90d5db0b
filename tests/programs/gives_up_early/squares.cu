// Compares with what the host computes and gives up at the first difference: without its kernel having run there is one.
#include <stdio.h>
#include <stdlib.h>

#define SIDE 3000
#define STEPS 400

__global__ void iterate(float* values, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    float x = values[i];
    for (int step = 0; step < STEPS; step++) x = x * 0.5f + 1.0f;
    values[i] = x;
}

int main(void) {
    const int count = SIDE * SIDE;
    float* values = (float*)malloc(count * sizeof(float));
    for (int i = 0; i < count; i++) values[i] = 0.0f;
    float* device;
    if (cudaMalloc((void**)&device, count * sizeof(float)) != cudaSuccess) return 1;
    if (cudaMemcpy(device, values, count * sizeof(float), cudaMemcpyHostToDevice) != cudaSuccess) return 1;
    iterate<<<(count + 255) / 256, 256>>>(device, count);
    if (cudaGetLastError() != cudaSuccess) return 1;
    if (cudaMemcpy(values, device, count * sizeof(float), cudaMemcpyDeviceToHost) != cudaSuccess) return 1;
    if (values[count - 1] < 1.9f) {
        printf("wrong\n");
        return 3;
    }
    printf("right\n");
    cudaFree(device);
    free(values);
    return 0;
}
