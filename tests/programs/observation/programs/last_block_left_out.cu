// One block too few at every size: (n - 1) / threads.
#include <cstdio>
#include <cstdlib>
#define N 3
__global__ void squareSimple(const float *in, float *out, int n, int count)
{
    int m = blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= count) return;
    const float *a = in + m * n * n;
    for (int r = 0; r < n; ++r)
        for (int c = 0; c < n; ++c) {
            float sum = 0;
            for (int k = 0; k < n; ++k) sum += a[r * n + k] * a[k * n + c];
            out[m * n * n + r * n + c] = sum;
        }
}
int main()
{
    int count = 1024;
    size_t bytes = sizeof(float) * N * N * count;
    float *h = (float *)malloc(bytes), *a, *b;
    for (int i = 0; i < N * N * count; ++i) h[i] = rand() / (float)RAND_MAX;
    cudaMalloc(&a, bytes);
    cudaMalloc(&b, bytes);
    cudaMemcpy(a, h, bytes, cudaMemcpyHostToDevice);
    int threads = 128;
    dim3 grid((count - 1) / threads);
    squareSimple<<<grid, threads>>>(a, b, N, count);
    cudaMemcpy(h, b, bytes, cudaMemcpyDeviceToHost);
    printf("%f\n", h[0]);
}
