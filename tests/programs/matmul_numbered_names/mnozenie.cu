#include <stdio.h>
#include <stdlib.h>
#define TS 16
// Mnozenie macierzy - zadanie 2
__global__ void matMul(float *A, float *B, float *C, int N) {
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < N && col < N) {
    float s = 0;
    for (int k = 0; k < N; k++) s += A[row * N + k] * B[k * N + col];
    C[row * N + col] = s;
  }
}
__global__ void matMul2(float *A, float *B, float *C, int N) {
  __shared__ float a[TS][TS];
  __shared__ float b[TS][TS];
  int row = blockIdx.y * TS + threadIdx.y, col = blockIdx.x * TS + threadIdx.x;
  float s = 0;
  for (int t = 0; t < (N + TS - 1) / TS; t++) {
    a[threadIdx.y][threadIdx.x] = (row < N && t * TS + threadIdx.x < N) ? A[row * N + t * TS + threadIdx.x] : 0.f;
    b[threadIdx.y][threadIdx.x] = (col < N && t * TS + threadIdx.y < N) ? B[(t * TS + threadIdx.y) * N + col] : 0.f;
    __syncthreads();
    for (int k = 0; k < TS; k++) s += a[threadIdx.y][k] * b[k][threadIdx.x];
    __syncthreads();
  }
  if (row < N && col < N) C[row * N + col] = s;
}
__global__ void matMul3(float *A, float *B, float *C, int N) {
  __shared__ float a[TS][TS];
  __shared__ float b[TS][TS];
  int row = blockIdx.y * TS + threadIdx.y, col = blockIdx.x * TS + threadIdx.x;
  float s = 0;
  for (int t = 0; t < (N + TS - 1) / TS; t++) {
    a[threadIdx.y][threadIdx.x] = (row < N && t * TS + threadIdx.x < N) ? A[row * N + t * TS + threadIdx.x] : 0.f;
    b[threadIdx.y][threadIdx.x] = (col < N && t * TS + threadIdx.y < N) ? B[(t * TS + threadIdx.y) * N + col] : 0.f;
    __syncthreads();
    for (int k = 0; k < TS; k += 4) {
      s += a[threadIdx.y][k] * b[k][threadIdx.x];
      s += a[threadIdx.y][k + 1] * b[k + 1][threadIdx.x];
      s += a[threadIdx.y][k + 2] * b[k + 2][threadIdx.x];
      s += a[threadIdx.y][k + 3] * b[k + 3][threadIdx.x];
    }
    __syncthreads();
  }
  if (row < N && col < N) C[row * N + col] = s;
}
static int porownaj(const float *x, const float *y, int n) {
  int zle = 0;
  for (int i = 0; i < n; i++) if (x[i] != y[i]) zle++;
  return zle;
}
int main(int argc, char **argv) {
  int N = argc > 1 ? atoi(argv[1]) : 100;
  size_t sz = N * N * sizeof(float);
  float *A = (float*)malloc(sz), *B = (float*)malloc(sz), *C = (float*)malloc(sz), *W = (float*)malloc(sz);
  for (int i = 0; i < N * N; i++) { A[i] = i % 7; B[i] = i % 5; }
  for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) { float s = 0; for (int k = 0; k < N; k++) s += A[i*N+k]*B[k*N+j]; W[i*N+j] = s; }
  float *dA, *dB, *dC;
  cudaMalloc(&dA, sz); cudaMalloc(&dB, sz); cudaMalloc(&dC, sz);
  cudaMemcpy(dA, A, sz, cudaMemcpyHostToDevice);
  cudaMemcpy(dB, B, sz, cudaMemcpyHostToDevice);
  dim3 blok(TS, TS), siatka((N + TS - 1) / TS, (N + TS - 1) / TS);
  matMul<<<siatka, blok>>>(dA, dB, dC, N);
  if (cudaGetLastError() != cudaSuccess) return 1;
  cudaMemcpy(C, dC, sz, cudaMemcpyDeviceToHost); printf("1: %d\n", porownaj(C, W, N*N));
  matMul2<<<siatka, blok>>>(dA, dB, dC, N);
  if (cudaGetLastError() != cudaSuccess) return 1;
  cudaMemcpy(C, dC, sz, cudaMemcpyDeviceToHost); printf("2: %d\n", porownaj(C, W, N*N));
  matMul3<<<siatka, blok>>>(dA, dB, dC, N);
  if (cudaGetLastError() != cudaSuccess) return 1;
  cudaMemcpy(C, dC, sz, cudaMemcpyDeviceToHost); printf("3: %d\n", porownaj(C, W, N*N));
}
