// Managed memory and a managed variable, read by the host after a synchronisation; a grid-stride loop.
#include <cmath>
#include <cstdio>

__managed__ int done;

__global__ void add(int n, float *x, float *y) {
    int stride = blockDim.x * gridDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) y[i] = x[i] + y[i];
    if (threadIdx.x == 0) atomicAdd(&done, 1);
}

int main(void) {
    int N = 1 << 12;
    float *x, *y;
    cudaMallocManaged(&x, N * sizeof(float));
    cudaMallocManaged(&y, N * sizeof(float));
    for (int i = 0; i < N; i++) {
        x[i] = 1.0f;
        y[i] = 2.0f;
    }
    done = 10;
    add<<<4, 256>>>(N, x, y);
    cudaDeviceSynchronize();
    float maxError = 0.0f;
    for (int i = 0; i < N; i++) maxError = fmax(maxError, fabs(y[i] - 3.0f));
    printf("Max error: %g, blocks: %d\n", maxError, done);
    cudaFree(x);
    cudaFree(y);
    return 0;
}
