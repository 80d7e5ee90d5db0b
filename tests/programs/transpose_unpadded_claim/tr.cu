#include "cuda_runtime.h"
#include "device_launch_parameters.h"
#include <stdio.h>
#include <stdlib.h>
#include <math.h>

#define N 256
#define TILE 32

__global__ void transposeGlobal(double *A, double *AT)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    AT[col * N + row] = A[row * N + col];
}

/* Kernel bez konfliktow bankow pamieci wspoldzielonej */
__global__ void transposeNoBankConflicts(double *A, double *AT)
{
    __shared__ double s[TILE][TILE];
    int col = blockIdx.x * TILE + threadIdx.x;
    int row = blockIdx.y * TILE + threadIdx.y;
    s[threadIdx.y][threadIdx.x] = A[row * N + col];
    __syncthreads();
    col = blockIdx.y * TILE + threadIdx.x;
    row = blockIdx.x * TILE + threadIdx.y;
    AT[row * N + col] = s[threadIdx.x][threadIdx.y];
}

static int sprawdz(double *a, double *b)
{
    int i, j;
    for (i = 0; i < N; i++)
        for (j = 0; j < N; j++)
            if (fabs(a[i * N + j] - b[j * N + i]) > 1e-12) return 0;
    return 1;
}

int main(void)
{
    double *h_A, *h_AT, *d_A, *d_AT;
    float ms;
    cudaEvent_t t0, t1;
    h_A = (double *)malloc(N * N * sizeof(double));
    h_AT = (double *)malloc(N * N * sizeof(double));
    for (int i = 0; i < N * N; i++) h_A[i] = sin(i);
    cudaMalloc((void **)&d_A, N * N * sizeof(double));
    cudaMalloc((void **)&d_AT, N * N * sizeof(double));
    cudaMemcpy(d_A, h_A, N * N * sizeof(double), cudaMemcpyHostToDevice);
    cudaEventCreate(&t0);
    cudaEventCreate(&t1);

    dim3 siatka(N / TILE, N / TILE, 1);
    dim3 blok(TILE, TILE, 1);

    cudaEventRecord(t0);
    transposeGlobal<<<siatka, blok>>>(d_A, d_AT);
    cudaEventRecord(t1);
    cudaEventSynchronize(t1);
    cudaEventElapsedTime(&ms, t0, t1);
    cudaMemcpy(h_AT, d_AT, N * N * sizeof(double), cudaMemcpyDeviceToHost);
    printf("pamiec globalna: wynik %s\n", sprawdz(h_A, h_AT) ? "poprawny" : "BLEDNY");

    cudaEventRecord(t0);
    transposeNoBankConflicts<<<siatka, blok>>>(d_A, d_AT);
    cudaEventRecord(t1);
    cudaEventSynchronize(t1);
    cudaEventElapsedTime(&ms, t0, t1);
    cudaMemcpy(h_AT, d_AT, N * N * sizeof(double), cudaMemcpyDeviceToHost);
    printf("bez konfliktow: wynik %s\n", sprawdz(h_A, h_AT) ? "poprawny" : "BLEDNY");

    cudaEventDestroy(t0);
    cudaEventDestroy(t1);
    cudaFree(d_A); cudaFree(d_AT);
    free(h_A); free(h_AT);
    return EXIT_SUCCESS;
}
