#include <stdio.h>
#include <stdlib.h>
#define T 32
#define ROWS 8

__global__ void transposeNaive(float *out, const float *in, int w, int h) {
    int x = blockIdx.x * T + threadIdx.x;
    int y = blockIdx.y * T + threadIdx.y;
    for (int j = 0; j < T; j += ROWS)
        if (x < w && y + j < h) out[x * h + y + j] = in[(y + j) * w + x];
}

template <int PAD>
__global__ void transposeTile(float *out, const float *in, int w, int h) {
    __shared__ float tile[T + PAD][T];
    int x = blockIdx.x * T + threadIdx.x;
    int y = blockIdx.y * T + threadIdx.y;
    for (int j = 0; j < T; j += ROWS)
        if (x < w && y + j < h) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * w + x];
    __syncthreads();
    x = blockIdx.y * T + threadIdx.x;
    y = blockIdx.x * T + threadIdx.y;
    for (int j = 0; j < T; j += ROWS)
        if (x < h && y + j < w) out[(y + j) * h + x] = tile[threadIdx.x][threadIdx.y + j];
}

int main(int argc, char **argv) {
    int w = 256, h = 128;
    size_t bytes = w * h * sizeof(float);
    float *a = (float *)malloc(bytes), *b = (float *)malloc(bytes);
    for (int i = 0; i < w * h; i++) a[i] = i;
    float *da, *db;
    cudaMalloc(&da, bytes); cudaMalloc(&db, bytes);
    cudaMemcpy(da, a, bytes, cudaMemcpyHostToDevice);
    dim3 grid((w + T - 1) / T, (h + T - 1) / T), block(T, ROWS);
    transposeNaive<<<grid, block>>>(db, da, w, h);
    cudaMemcpy(b, db, bytes, cudaMemcpyDeviceToHost);
    transposeTile<0><<<grid, block>>>(db, da, w, h);
    cudaMemcpy(b, db, bytes, cudaMemcpyDeviceToHost);
    transposeTile<1><<<grid, block>>>(db, da, w, h);
    cudaMemcpy(b, db, bytes, cudaMemcpyDeviceToHost);
    int bad = 0;
    for (int y = 0; y < h; y++) for (int x = 0; x < w; x++) if (b[x * h + y] != a[y * w + x]) bad++;
    printf(bad ? "bad\n" : "ok\n");
    cudaFree(da); cudaFree(db); free(a); free(b);
    return 0;
}
