#include <stdio.h>
#include <stdlib.h>
#include <cuda.h>

#define BLOCK 16
#define cudaCheck(ans) { gpuAssert((ans), __FILE__, __LINE__); }
inline void gpuAssert(cudaError_t code, const char *file, int line, bool abort=true)
{
   if (code != cudaSuccess)
   {
      fprintf(stderr,"GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line);
      if (abort) exit(code);
   }
}

// Умножение матриц: один поток - один элемент
__global__ void mult(const double *A, const double *B, double *C, int N)
{
    int i = threadIdx.y + blockIdx.y * blockDim.y;
    int j = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < N && j < N) {
        double r = 0;
        for (int k = 0; k < N; k++) r += A[i*N + k] * B[k*N + j];
        C[i*N + j] = r;
    }
}

double* makeMatrix(int N, int seed) {
    double *p = (double*)malloc(N*N*sizeof(double));
    srand(seed);
    for (int i = 0; i < N*N; i++) p[i] = rand() % 17 - 8;
    return p;
}

int main(int argc, char* argv[])
{
    int N = 100;
    if (argc > 1) N = atoi(argv[1]);
    double *a = makeMatrix(N, 1), *b = makeMatrix(N, 2), *c = (double*)calloc(N*N, sizeof(double));
    double *da, *db, *dc;
    cudaCheck(cudaMalloc(&da, N*N*sizeof(double)));
    cudaCheck(cudaMalloc(&db, N*N*sizeof(double)));
    cudaCheck(cudaMalloc(&dc, N*N*sizeof(double)));
    cudaCheck(cudaMemcpy(da, a, N*N*sizeof(double), cudaMemcpyHostToDevice));
    cudaCheck(cudaMemcpy(db, b, N*N*sizeof(double), cudaMemcpyHostToDevice));
    int blocks = ceil(N / BLOCK);     // 100 / 16 = 6 (!)
    mult<<<dim3(blocks, blocks), dim3(BLOCK, BLOCK)>>>(da, db, dc, N);
    cudaCheck(cudaPeekAtLastError());
    cudaCheck(cudaDeviceSynchronize());
    cudaCheck(cudaMemcpy(c, dc, N*N*sizeof(double), cudaMemcpyDeviceToHost));
    double expected = 0;
    for (int k = 0; k < N; k++) expected += a[k] * b[k*N];
    printf("C[0][0] = %.1f, должно быть %.1f\n", c[0], expected);
    printf("последний элемент: %.1f\n", c[N*N-1]);
    cudaCheck(cudaFree(da));
    cudaCheck(cudaFree(db));
    cudaCheck(cudaFree(dc));
    free(a); free(b); free(c);
    return 0;
}
