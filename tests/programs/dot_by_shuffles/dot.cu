#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
// iloczyn skalarny: kazda macierz watkow sumuje przez shuffle
__global__ void dot(const double *a, const double *b, double *out, int n)
{
    double s = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += a[i] * b[i];
    for (int d = 16; d; d >>= 1) s += __shfl_down_sync(0xffffffff, s, d);
    if (threadIdx.x % 32 == 0) atomicAdd(out, s);
}
int main(void)
{
    const int n = 777;
    double *h = (double *)malloc(n * sizeof(double)), *a, *b, *out, r, e = 0;
    struct timeval t0, t1;
    cudaError_t err;
    for (int i = 0; i < n; i++) { h[i] = i % 9; e += h[i] * h[i]; }
    if ((err = cudaMalloc((void **)&a, n * sizeof(double)))) goto bad;
    if ((err = cudaMalloc((void **)&b, n * sizeof(double)))) goto bad;
    if ((err = cudaMalloc((void **)&out, sizeof(double)))) goto bad;
    cudaMemcpy(a, h, n * sizeof(double), cudaMemcpyHostToDevice);
    cudaMemcpy(b, a, n * sizeof(double), cudaMemcpyDeviceToDevice);
    cudaMemset(out, 0, sizeof(double));
    gettimeofday(&t0, NULL);
    dot<<<3, 64>>>(a, b, out, n);
    cudaDeviceSynchronize();
    gettimeofday(&t1, NULL);
    if ((err = cudaMemcpy(&r, out, sizeof r, cudaMemcpyDeviceToHost))) goto bad;
    printf("%s\n", r == e ? "dobrze" : "zle");
    cudaFree(a); cudaFree(b); cudaFree(out); free(h);
    return t1.tv_sec < t0.tv_sec;
bad:
    printf("blad: %s\n", cudaGetErrorString(err));
    return 1;
}
