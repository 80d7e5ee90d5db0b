#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <stdbool.h>
// okno podane jako szerokość (2*promień+1), nie jako promień
__global__ void srednia_naiwna(const float *x, float *y, int okno, int n)
{
    const int pol = okno / 2;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const bool brzeg = i < pol || i > n - pol - 1;
    float s = 0.0f;
    if (!brzeg) for (int k = 0; k < okno; ++k) s += x[i - pol + k];
    y[i] = brzeg ? x[i] : s / okno;
}
__global__ void srednia_shared(const float *x, float *y, int okno, int n)
{
    extern __shared__ float s[];
    const int pol = okno / 2, i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = threadIdx.x; k < blockDim.x + okno - 1; k += blockDim.x) {
        const int g = blockIdx.x * blockDim.x + k - pol;
        s[k] = (g < 0 || g >= n) ? 0.0f : x[g];
    }
    __syncthreads();
    if (i >= n) return;
    float suma = 0.0f;
    for (int k = 0; k < okno; ++k) suma += s[threadIdx.x + k];
    y[i] = (i < pol || i > n - pol - 1) ? s[threadIdx.x + pol] : suma / okno;
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
    srednia_naiwna<<<(n + 127) / 128, 128>>>(d_a, d_b, 2 * R_ + 1, n);
    OK_(cudaGetLastError()); OK_(cudaMemcpy(o, d_b, n * sizeof(float), cudaMemcpyDeviceToHost)); printf("%d\n", zle(h, o, n, R_));
    srednia_shared<<<(n + 127) / 128, 128, (128 + 2 * R_) * sizeof(float)>>>(d_a, d_b, 2 * R_ + 1, n);
    OK_(cudaGetLastError()); OK_(cudaMemcpy(o, d_b, n * sizeof(float), cudaMemcpyDeviceToHost)); printf("%d\n", zle(h, o, n, R_));
    OK_(cudaFree(d_a)); OK_(cudaFree(d_b)); free(h); free(o);
    return 0;
}
