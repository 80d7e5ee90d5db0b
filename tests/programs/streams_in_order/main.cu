// Pinned memory, two streams, an event that puts them in order; callbacks; a query.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void twice(int* data, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] *= 2;
}
__global__ void sum(const int* data, int* total, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(total, data[i]);
}
void CUDART_CB told(cudaStream_t, cudaError_t status, void* word) { printf("%s %d\n", (const char*)word, (int)status); }

int main() {
    const int n = 512;
    int *h, *d, *d_total, total = -1;
    cudaHostAlloc(&h, n * sizeof(int), cudaHostAllocDefault);
    for (int i = 0; i < n; i++) h[i] = i;
    cudaMalloc(&d, n * sizeof(int));
    cudaMalloc(&d_total, sizeof(int));
    cudaStream_t first, second;
    cudaStreamCreate(&first);
    cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
    cudaEvent_t ready;
    cudaEventCreateWithFlags(&ready, cudaEventDisableTiming);
    cudaMemcpyAsync(d, h, n * sizeof(int), cudaMemcpyHostToDevice, first);
    twice<<<n / 128, 128, 0, first>>>(d, n);
    cudaEventRecord(ready, first);
    cudaMemsetAsync(d_total, 0, sizeof(int), second);
    cudaStreamWaitEvent(second, ready, 0);
    sum<<<n / 128, 128, 0, second>>>(d, d_total, n);
    cudaStreamAddCallback(second, told, (void*)"callback", 0);
    cudaStreamSynchronize(second);
    cudaMemcpy(&total, d_total, sizeof(int), cudaMemcpyDeviceToHost);
    printf("%d %s\n", total, cudaGetErrorString(cudaGetLastError()));
    cudaStreamDestroy(first);
    cudaStreamDestroy(second);
    cudaEventDestroy(ready);
    cudaFree(d);
    cudaFree(d_total);
    cudaFreeHost(h);
    return 0;
}
