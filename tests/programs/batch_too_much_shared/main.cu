#include <stdio.h>
#include <stdlib.h>
const int n = 8, m = 512, threads = 256;

__global__ void sq_shared(float* a, float* b, int n, int m)
{
    extern __shared__ float s[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < m) {
        float* p = &s[threadIdx.x * n * n];
        for (int j = 0; j < n * n; j++) p[j] = a[i * n * n + j];
        for (int r = 0; r < n; r++)
            for (int c = 0; c < n; c++) {
                float v = 0;
                for (int k = 0; k < n; k++) v += p[r * n + k] * p[k * n + c];
                b[i * n * n + r * n + c] = v;
            }
    }
}

int main(void)
{
    float *a, *b, *h = (float*)calloc(n * n * m, 4);
    cudaEvent_t t1, t2;
    float ms;
    for (int i = 0; i < n * n * m; i++) h[i] = 0.5f;
    cudaMalloc((void**)&a, n * n * m * 4);
    cudaMalloc((void**)&b, n * n * m * 4);
    cudaMemcpy(a, h, n * n * m * 4, cudaMemcpyHostToDevice);
    cudaEventCreate(&t1);
    cudaEventCreate(&t2);
    cudaEventRecord(t1, 0);
    sq_shared<<<m / threads, threads, threads * n * n * sizeof(float)>>>(a, b, n, m);
    cudaEventRecord(t2, 0);
    cudaEventSynchronize(t2);
    cudaEventElapsedTime(&ms, t1, t2);
    cudaMemcpy(h, b, n * n * m * 4, cudaMemcpyDeviceToHost);
    printf("h[0] = %g (2 expected)\n", h[0]);
    cudaFree(a);
    cudaFree(b);
    free(h);
    return 0;
}
