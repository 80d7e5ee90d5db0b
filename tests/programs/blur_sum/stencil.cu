#include <stdio.h>
#include <stdlib.h>

#define N 1024
#define RADIUS 2
#define BLOCK_SIZE 64

// 1D stencil from the slides
__global__ void stencil_1d(int *in, int *out) {
    __shared__ int temp[BLOCK_SIZE + 2 * RADIUS];
    int gindex = threadIdx.x + blockIdx.x * blockDim.x + RADIUS;
    int lindex = threadIdx.x + RADIUS;
    temp[lindex] = in[gindex];
    if (threadIdx.x < RADIUS) {
        temp[lindex - RADIUS] = in[gindex - RADIUS];
        temp[lindex + BLOCK_SIZE] = in[gindex + BLOCK_SIZE];
    }
    __syncthreads();
    int result = 0;
    for (int offset = -RADIUS; offset <= RADIUS; offset++)
        result += temp[lindex + offset];
    out[gindex - RADIUS] = result;
}

int main(void) {
    int *h_in, *h_out, *d_in, *d_out;
    int size = (N + 2 * RADIUS) * sizeof(int);
    h_in = (int *)malloc(size);
    h_out = (int *)malloc(N * sizeof(int));
    for (int i = 0; i < N + 2 * RADIUS; i++) h_in[i] = 1;
    cudaMalloc((void **)&d_in, size);
    cudaMalloc((void **)&d_out, N * sizeof(int));
    cudaMemcpy(d_in, h_in, size, cudaMemcpyHostToDevice);
    stencil_1d<<<N / BLOCK_SIZE, BLOCK_SIZE>>>(d_in, d_out);
    cudaMemcpy(h_out, d_out, N * sizeof(int), cudaMemcpyDeviceToHost);
    for (int i = 0; i < N; i++)
        if (h_out[i] != 2 * RADIUS + 1) { printf("h_out[%d] == %d\n", i, h_out[i]); return 1; }
    printf("Success!\n");
    free(h_in); free(h_out);
    cudaFree(d_in); cudaFree(d_out);
    return 0;
}
