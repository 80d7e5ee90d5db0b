// Two rounds through one page-locked buffer: it is filled anew while the copy out of it may still be under way.
#include <cstdio>
#include <cstdlib>

__global__ void twice(int *a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] *= 2;
}

int main()
{
    const int n = 1000, rounds = 3;
    int *buffer, *result, *d;
    cudaStream_t s;
    cudaStreamCreate(&s);
    cudaMallocHost(&buffer, n * sizeof(int));
    cudaMallocHost(&result, n * sizeof(int));
    cudaMalloc(&d, n * sizeof(int));
    int sum = 0;
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < n; i++) buffer[i] = round + i;
        cudaMemcpyAsync(d, buffer, n * sizeof(int), cudaMemcpyHostToDevice, s);
        twice<<<(n + 255) / 256, 256, 0, s>>>(d, n);
        cudaMemcpyAsync(result, d, n * sizeof(int), cudaMemcpyDeviceToHost, s);
        // Waited for in the last rounds alone.
        if (round > 0) cudaStreamSynchronize(s);
    }
    for (int i = 0; i < n; i++) sum += result[i];
    printf("%d\n", sum);
    // After a wait it may be changed, and by the device it is changed in order.
    cudaMemcpyAsync(d, buffer, sizeof(int) * n, cudaMemcpyHostToDevice, s);
    cudaMemcpyAsync(buffer, d, n * sizeof(int), cudaMemcpyDeviceToHost, s);
    cudaStreamSynchronize(s);
    buffer[0] = 5;
    cudaStreamDestroy(s);
    cudaFreeHost(buffer);
    cudaFreeHost(result);
    cudaFree(d);
    return cudaGetLastError();
}
