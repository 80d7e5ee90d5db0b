#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_pipeline.h>
// struct by value
typedef struct { const float *data; int len; } VecIn;
typedef struct { float *data; int len; } VecOut;
enum { RAD = 2, BS = 256 };
__device__ bool is_border(int i, int n, int r) { return i < r || i >= n - r; }
__global__ void mean_simple(VecIn a, VecOut b, int r)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= a.len) return;
    float s = 0;
    if (!is_border(i, a.len, r)) { for (int k = i - r; k <= i + r; k++) s += a.data[k]; s /= (r + r + 1); } else s = a.data[i];
    b.data[i] = s;
}
__global__ void mean_shared(VecIn a, VecOut b, int r)
{
    extern __shared__ float s[];
    int first = blockIdx.x * blockDim.x - r, total = blockDim.x + 2 * r;
    for (int k = threadIdx.x; k < total; k += blockDim.x)
        if (first + k >= 0 && first + k < a.len) __pipeline_memcpy_async(s + k, a.data + first + k, 4);
    __pipeline_commit(); __pipeline_wait_prior(0);
    __syncthreads();
    int i = first + r + threadIdx.x;
    if (i >= a.len) return;
    float acc = 0;
    for (int k = 0; k <= 2 * r; k++) if (!is_border(i, a.len, r)) acc += s[threadIdx.x + k];
    b.data[i] = is_border(i, a.len, r) ? s[threadIdx.x + r] : acc / (2 * r + 1);
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
    VecIn va = {d_a, n}; VecOut vb = {d_b, n}; mean_simple<<<(n + BS - 1) / BS, BS>>>(va, vb, RAD);
    OK_(cudaGetLastError()); OK_(cudaMemcpy(o, d_b, n * sizeof(float), cudaMemcpyDeviceToHost)); printf("%d\n", zle(h, o, n, R_));
    mean_shared<<<(n + BS - 1) / BS, BS, (BS + 2 * RAD) * sizeof(float)>>>(va, vb, RAD);
    OK_(cudaGetLastError()); OK_(cudaMemcpy(o, d_b, n * sizeof(float), cudaMemcpyDeviceToHost)); printf("%d\n", zle(h, o, n, R_));
    OK_(cudaFree(d_a)); OK_(cudaFree(d_b)); free(h); free(o);
    return 0;
}
