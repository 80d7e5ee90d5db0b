#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define COUNT 1000
#define DIM 5
#define BLOCK 256

__global__ void kernel1(float *in, float *out)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = 0; i < DIM; i++)
        for (int j = 0; j < DIM; j++)
        {
            float s = 0;
            for (int k = 0; k < DIM; k++)
                s += in[t * DIM * DIM + i * DIM + k] * in[t * DIM * DIM + k * DIM + j];
            out[t * DIM * DIM + i * DIM + j] = s;
        }
}

__global__ void kernel2(float *in, float *out)
{
    __shared__ float m[BLOCK][DIM * DIM];
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = 0; i < DIM * DIM; i++)
        m[threadIdx.x][i] = in[t * DIM * DIM + i];
    for (int i = 0; i < DIM; i++)
        for (int j = 0; j < DIM; j++)
        {
            float s = 0;
            for (int k = 0; k < DIM; k++)
                s += m[threadIdx.x][i * DIM + k] * m[threadIdx.x][k * DIM + j];
            out[t * DIM * DIM + i * DIM + j] = s;
        }
}

int main()
{
    int n = COUNT * DIM * DIM;
    float *h = (float *)malloc(n * sizeof(float)), *r1 = (float *)malloc(n * sizeof(float)), *r2 = (float *)malloc(n * sizeof(float));
    float *d1, *d2;
    srand(time(0));
    for (int i = 0; i < n; i++) h[i] = rand() / (float)RAND_MAX;
    cudaMalloc((void **)&d1, n * sizeof(float));
    cudaMalloc((void **)&d2, n * sizeof(float));
    cudaMemcpy(d1, h, n * sizeof(float), cudaMemcpyHostToDevice);
    kernel1<<<(COUNT + BLOCK - 1) / BLOCK, BLOCK>>>(d1, d2);
    cudaMemcpy(r1, d2, n * sizeof(float), cudaMemcpyDeviceToHost);
    kernel2<<<(COUNT + BLOCK - 1) / BLOCK, BLOCK>>>(d1, d2);
    cudaMemcpy(r2, d2, n * sizeof(float), cudaMemcpyDeviceToHost);
    int diff = 0;
    for (int i = 0; i < n; i++) if (r1[i] != r2[i]) diff++;
    printf("diff = %d\n", diff);
    return 0;
}
