#include <stdio.h>
#include <stdlib.h>
#include <math.h>
// struktura z parametrami, wyjście najpierw, int64, pętla po macierzach z krokiem siatki
struct Paczka { const float *we; float *wy; int bok; int ile; };
__device__ void kwadrat(const float *m, float *w, int n, int krok)
{
    for (int i = 0; i < n * n; ++i) {
        float s = 0;
        const float *wiersz = m + i / n * n * krok, *kol = m + i % n * krok;
        for (int k = 0; k < n; ++k, wiersz += krok, kol += n * krok) s += *wiersz * *kol;
        w[i] = s;
    }
}
__global__ void prosty(Paczka p)
{
    for (int id = blockIdx.x * blockDim.x + threadIdx.x; id < p.ile; id += gridDim.x * blockDim.x)
        kwadrat(p.we + (size_t)id * p.bok * p.bok, p.wy + (size_t)id * p.bok * p.bok, p.bok, 1);
}
// w pamięci dzielonej element e macierzy wątku t leży pod e * blockDim.x + t: bez konfliktów banków
__global__ void dzielony(Paczka p)
{
    extern __shared__ float s[];
    const int q = p.bok * p.bok;
    for (int id = blockIdx.x * blockDim.x + threadIdx.x; id < p.ile; id += gridDim.x * blockDim.x) {
        for (int e = 0; e < q; ++e) s[e * blockDim.x + threadIdx.x] = p.we[(size_t)id * q + e];
        kwadrat(s + threadIdx.x, p.wy + (size_t)id * q, p.bok, blockDim.x);
    }
}
#define MUST(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { fprintf(stderr, "%d %s\n", __LINE__, cudaGetErrorString(e_)); exit(1); } } while (0)
static int bad(const float *a, const float *b, int n, int cnt) {
    int wrong = 0;
    for (int m = 0; m < cnt; m++) for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) {
        float s = 0; for (int k = 0; k < n; k++) s += a[(m * n + i) * n + k] * a[(m * n + k) * n + j];
        wrong += fabsf(s - b[(m * n + i) * n + j]) > 1e-3f; }
    return wrong;
}
int main() {
    const int n = 5, cnt = 1000; const size_t bytes = sizeof(float) * n * n * cnt;
    float *h = (float*)malloc(bytes), *r = (float*)malloc(bytes), *d_a, *d_b;
    for (int i = 0; i < n * n * cnt; i++) h[i] = rand() / (float)RAND_MAX;
    MUST(cudaMalloc(&d_a, bytes)); MUST(cudaMalloc(&d_b, bytes)); MUST(cudaMemcpy(d_a, h, bytes, cudaMemcpyHostToDevice));
    Paczka p = {d_a, d_b, n, cnt}; prosty<<<3, 128>>>(p);
    MUST(cudaGetLastError()); MUST(cudaMemcpy(r, d_b, bytes, cudaMemcpyDeviceToHost)); printf("%d\n", bad(h, r, n, cnt));
    dzielony<<<3, 128, 128 * n * n * sizeof(float)>>>(p);
    MUST(cudaGetLastError()); MUST(cudaMemcpy(r, d_b, bytes, cudaMemcpyDeviceToHost)); printf("%d\n", bad(h, r, n, cnt));
    MUST(cudaFree(d_a)); MUST(cudaFree(d_b)); free(h); free(r); return 0;
}
