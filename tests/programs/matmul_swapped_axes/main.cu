#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

static double second(void) { struct timeval tv; gettimeofday(&tv, NULL); return tv.tv_sec + 1e-6 * tv.tv_usec; }

__global__ void multiply(float *a, float *b, float *c, int width)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int col = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= width || col >= width) return;
    float s = 0;
    for (int k = 0; k < width; ++k) s += a[row * width + k] * b[k * width + col];
    c[row * width + col] = s;
}

int main(int argc, char **argv)
{
    int width = 100;
    if (argc == 2) width = atoi(argv[1]);
    else if (argc > 2) { printf("Usage: %s [width]\n", argv[0]); return 1; }
    size_t bytes = width * width * sizeof(float);
    float *a = (float *)malloc(bytes), *b = (float *)malloc(bytes), *c = (float *)malloc(bytes), *ref = (float *)malloc(bytes);
    for (int i = 0; i < width * width; ++i) { a[i] = i % 7; b[i] = i % 5; }
    double t = second();
    for (int i = 0; i < width; ++i)
        for (int j = 0; j < width; ++j) {
            float s = 0;
            for (int k = 0; k < width; ++k) s += a[i * width + k] * b[k * width + j];
            ref[i * width + j] = s;
        }
    double cpu = second() - t;
    float *da, *db, *dc;
    cudaError_t e;
    if ((e = cudaMalloc((void **)&da, bytes)) != cudaSuccess) goto fail;
    if ((e = cudaMalloc((void **)&db, bytes)) != cudaSuccess) goto fail;
    if ((e = cudaMalloc((void **)&dc, bytes)) != cudaSuccess) goto fail;
    if ((e = cudaMemcpy(da, a, bytes, cudaMemcpyHostToDevice)) != cudaSuccess) goto fail;
    if ((e = cudaMemcpy(db, b, bytes, cudaMemcpyHostToDevice)) != cudaSuccess) goto fail;
    {
        dim3 threads(16, 16, 1), blocks((width - 1) / 16 + 1, (width - 1) / 16 + 1, 1);
        t = second();
        multiply <<< blocks, threads >>> (da, db, dc, width);
        if ((e = cudaGetLastError()) != cudaSuccess) goto fail;
        if ((e = cudaDeviceSynchronize()) != cudaSuccess) goto fail;
    }
    t = second() - t;
    if ((e = cudaMemcpy(c, dc, bytes, cudaMemcpyDeviceToHost)) != cudaSuccess) goto fail;
    for (int i = 0; i < width * width; ++i)
        if (c[i] != ref[i]) { printf("c[%d] = %f, must be %f\n", i, c[i], ref[i]); return 1; }
    printf("correct%s\n", t > 0 && cpu > 0 ? ", timed" : "");
    cudaFree(da); cudaFree(db); cudaFree(dc);
    free(a); free(b); free(c); free(ref);
    return 0;
fail:
    fprintf(stderr, "CUDA: %s\n", cudaGetErrorName(e));
    return 1;
}
