/* The kernels, each behind a function of the same signature, so that main() needs no CUDA. */
#include "kernels.h"

#define TILE_WIDTH 16
#define CEIL_DIV(x, y) (((x) + (y) - 1) / (y))

__global__ void simple_kernel(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    float acc = 0.0f;
    int k;
    if (i >= n || j >= n)
        return;
    for (k = 0; k < n; k++)
        acc += a[i * n + k] * b[k * n + j];
    c[i * n + j] = acc;
}

__global__ void tile_kernel(const float *a, const float *b, float *c, int n)
{
    __shared__ float as[TILE_WIDTH][TILE_WIDTH], bs[TILE_WIDTH][TILE_WIDTH];
    int i = blockIdx.y * TILE_WIDTH + threadIdx.y;
    int j = blockIdx.x * TILE_WIDTH + threadIdx.x;
    float acc = 0.0f;
    int t, k;
    for (t = 0; t < n; t += TILE_WIDTH) {
        as[threadIdx.y][threadIdx.x] = i < n && t + threadIdx.x < n ? a[i * n + t + threadIdx.x] : 0.0f;
        bs[threadIdx.y][threadIdx.x] = j < n && t + threadIdx.y < n ? b[(t + threadIdx.y) * n + j] : 0.0f;
        __syncthreads();
        for (k = 0; k < TILE_WIDTH; k++)
            acc += as[threadIdx.y][k] * bs[k][threadIdx.x];
        __syncthreads();
    }
    if (i < n && j < n)
        c[i * n + j] = acc;
}

static cudaError_t last;

#define TRY(call)                    \
    do {                             \
        last = (call);               \
        if (last != cudaSuccess)     \
            goto done;               \
    } while (0)

/* Everything that both versions do alike. */
static const char *run(int which, const float *a, const float *b, float *c, int n, float *ms)
{
    size_t bytes = sizeof(float) * n * n;
    float *da = 0, *db = 0, *dc = 0;
    cudaEvent_t e0 = 0, e1 = 0;
    dim3 threads(TILE_WIDTH, TILE_WIDTH), blocks(CEIL_DIV(n, TILE_WIDTH), CEIL_DIV(n, TILE_WIDTH));

    TRY(cudaMalloc((void **)&da, bytes));
    TRY(cudaMalloc((void **)&db, bytes));
    TRY(cudaMalloc((void **)&dc, bytes));
    TRY(cudaMemcpy(da, a, bytes, cudaMemcpyHostToDevice));
    TRY(cudaMemcpy(db, b, bytes, cudaMemcpyHostToDevice));
    TRY(cudaEventCreate(&e0));
    TRY(cudaEventCreate(&e1));
    TRY(cudaEventRecord(e0, 0));
    if (which == WITH_TILES)
        tile_kernel<<<blocks, threads>>>(da, db, dc, n);
    else
        simple_kernel<<<blocks, threads>>>(da, db, dc, n);
    TRY(cudaGetLastError());
    TRY(cudaEventRecord(e1, 0));
    TRY(cudaEventSynchronize(e1));
    TRY(cudaEventElapsedTime(ms, e0, e1));
    TRY(cudaMemcpy(c, dc, bytes, cudaMemcpyDeviceToHost));
done:
    if (e0) cudaEventDestroy(e0);
    if (e1) cudaEventDestroy(e1);
    cudaFree(da);
    cudaFree(db);
    cudaFree(dc);
    return last == cudaSuccess ? 0 : cudaGetErrorString(last);
}

const char *multiply_simple(const float *a, const float *b, float *c, int n, float *ms)
{
    return run(WITHOUT_TILES, a, b, c, n, ms);
}

const char *multiply_tiles(const float *a, const float *b, float *c, int n, float *ms)
{
    return run(WITH_TILES, a, b, c, n, ms);
}
