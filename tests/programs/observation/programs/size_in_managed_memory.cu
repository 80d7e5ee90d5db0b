#include <stdio.h>
#include <stdlib.h>
#include <math.h>
// the four memories are elsewhere; managed memory and streams; __device__ globals for sizes
#define RADIUS 2
__device__ __managed__ int g_count;
__global__ void blur_naive_g(const float *in, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < g_count) {
        if (i < RADIUS || i >= g_count - RADIUS) { out[i] = in[i]; return; }
        float t = 0;
        for (int j = i - RADIUS; j < i + RADIUS + 1; j++) t += in[j];
        out[i] = t / (RADIUS + 1 + RADIUS);
    }
}
__global__ void blur_shared_g(const float *in, float *out)
{
    __shared__ float s[256 + 2 * RADIUS];
    int i = blockIdx.x * blockDim.x + threadIdx.x, l = threadIdx.x + RADIUS;
    s[l] = i < g_count ? in[i] : 0;
    if (threadIdx.x < RADIUS) {
        s[l - RADIUS] = i < RADIUS || i - RADIUS >= g_count ? 0 : in[i - RADIUS];
        s[l + blockDim.x] = i + blockDim.x < g_count ? in[i + blockDim.x] : 0;
    }
    __syncthreads();
    if (i < g_count) {
        float t = 0;
        for (int j = l - RADIUS; j <= l + RADIUS; j++) t += s[j];
        out[i] = (i < RADIUS || i >= g_count - RADIUS) ? s[l] : t / (2 * RADIUS + 1);
    }
}
#define OK_(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(e_)); exit(1); } } while (0)
static int zle(const float *a, const float *b, int n, int R) {
    int bad = 0;
    for (int i = 0; i < n; i++) {
        float s = 0;
        if (i < R || i >= n - R) s = a[i];
        else { for (int j = -R; j <= R; j++) s += a[i + j]; s /= 2 * R + 1; }
        if (fabsf(s - b[i]) > 0.01f) bad++;
    }
    return bad;
}
int main() {
    const int n = 5000; const int R_ = 2;
    float *h = (float*)malloc(n * sizeof(float)), *o = (float*)malloc(n * sizeof(float)), *d_a, *d_b;
    for (int i = 0; i < n; i++) h[i] = 100.0f * rand() / (float)RAND_MAX;
    OK_(cudaMalloc(&d_a, n * sizeof(float))); OK_(cudaMalloc(&d_b, n * sizeof(float)));
    OK_(cudaMemcpy(d_a, h, n * sizeof(float), cudaMemcpyHostToDevice));
    g_count = n; blur_naive_g<<<(n + 255) / 256, 256>>>(d_a, d_b);
    OK_(cudaGetLastError()); OK_(cudaMemcpy(o, d_b, n * sizeof(float), cudaMemcpyDeviceToHost)); printf("%d\n", zle(h, o, n, R_));
    blur_shared_g<<<(n + 255) / 256, 256>>>(d_a, d_b);
    OK_(cudaGetLastError()); OK_(cudaMemcpy(o, d_b, n * sizeof(float), cudaMemcpyDeviceToHost)); printf("%d\n", zle(h, o, n, R_));
    OK_(cudaFree(d_a)); OK_(cudaFree(d_b)); free(h); free(o);
    return 0;
}
