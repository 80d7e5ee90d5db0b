// Rounded up, but from the side of the square in place of its area.
#include <cstdio>
#include <cstdlib>

__global__ void flipAll(const float *from, float *to, int side)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < side * side) to[i % side * side + i / side] = from[i];
}

int main()
{
    const int side = 128, bytes = side * side * sizeof(float);
    float *h = (float *)calloc(side * side, sizeof(float)), *a, *b;
    cudaMalloc(&a, bytes);
    cudaMalloc(&b, bytes);
    for (int i = 0; i < side * side; i++) h[i] = i;
    cudaMemcpy(a, h, bytes, cudaMemcpyHostToDevice);
    flipAll<<<(side + 127) / 128, 128>>>(a, b, side);
    cudaMemcpy(h, b, bytes, cudaMemcpyDeviceToHost);
    printf("%g\n", h[1]);
    cudaFree(a);
    cudaFree(b);
    free(h);
}
