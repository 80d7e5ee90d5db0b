// The vector is brought to [0, 1] by one kernel; the next one is to smooth what that has made, and does not divide.
#include <cmath>
#include <cstdio>
#include <cstdlib>

__global__ void range(float *from, float *to, float low, float high, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) to[i] = (from[i] - low) / (high - low);
}

__global__ void mean(float *from, float *to, int count, int radius)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    float sum = 0;
    if (i < radius || i >= count - radius) {
        to[i] = from[i];
        return;
    }
    for (int k = -radius; k <= radius; k++) sum += from[i + k];
    to[i] = sum;
}

int main()
{
    const int count = 500;
    float h[count], *a, *b, *c;
    for (int i = 0; i < count; i++) h[i] = rand() % 60 + 40;
    cudaMalloc(&a, sizeof h);
    cudaMalloc(&b, sizeof h);
    cudaMalloc(&c, sizeof h);
    cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
    range<<<(count + 63) / 64, 64>>>(a, b, 40, 100, count);
    mean<<<(count + 63) / 64, 64>>>(b, c, count, 2);
    cudaMemcpy(h, c, sizeof h, cudaMemcpyDeviceToHost);
    printf("%g\n", h[9]);
    cudaFree(a);
    cudaFree(b);
    cudaFree(c);
}
