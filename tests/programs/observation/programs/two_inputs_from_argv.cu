#include <cstdio>
#include <cstdlib>
__global__ void mulSimple(const float* A, const float* B, float* C, int n, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    for (int r = 0; r < n; r++) for (int c = 0; c < n; c++) { float s = 0; for (int k = 0; k < n; k++) s += A[i*n*n+r*n+k]*B[i*n*n+k*n+c]; C[i*n*n+r*n+c] = s; }
}
__global__ void mulShared(const float* A, const float* B, float* C, int n, int count) {
    extern __shared__ float s[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float *a = s + threadIdx.x * 2 * n * n, *b = a + n * n;
    if (i >= count) return;
    for (int k = 0; k < n * n; k++) { a[k] = A[i*n*n+k]; b[k] = B[i*n*n+k]; }
    for (int r = 0; r < n; r++) for (int c = 0; c < n; c++) { float t = 0; for (int k = 0; k < n; k++) t += a[r*n+k]*b[k*n+c]; C[i*n*n+r*n+c] = t; }
}
int main(int argc, char** argv) {
    int n = atoi(argv[1]), count = atoi(argv[2]); size_t s = n * n * count * 4;
    float *h = (float*)malloc(s), *a, *b, *c; for (size_t i = 0; i < s / 4; i++) h[i] = rand() / (float)RAND_MAX;
    cudaMalloc(&a, s); cudaMalloc(&b, s); cudaMalloc(&c, s);
    cudaMemcpy(a, h, s, cudaMemcpyHostToDevice); cudaMemcpy(b, h, s, cudaMemcpyHostToDevice);
    int t = 32;
    mulSimple<<<(count + t - 1) / t, t>>>(a, b, c, n, count);
    mulShared<<<(count + t - 1) / t, t, t * 2 * n * n * 4>>>(a, b, c, n, count);
    cudaMemcpy(h, c, s, cudaMemcpyDeviceToHost); printf("%f\n", h[5]);
}
