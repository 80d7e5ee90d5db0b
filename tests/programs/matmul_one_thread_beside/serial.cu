#include <iostream>
#include <cstdlib>
using namespace std;
#define RAZMER 64
#define BLOK 16
__global__ void umnozhenieOdinPotok(int *a, int *b, int *c) {
  for (int i = 0; i < RAZMER; i++)
    for (int j = 0; j < RAZMER; j++) {
      int s = 0;
      for (int k = 0; k < RAZMER; k++) s += a[i * RAZMER + k] * b[k * RAZMER + j];
      c[i * RAZMER + j] = s;
    }
}
__global__ void umnozhenieMnogoPotokov(int *a, int *b, int *c) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  int s = 0;
  for (int k = 0; k < RAZMER; k++) s += a[i * RAZMER + k] * b[k * RAZMER + j];
  c[i * RAZMER + j] = s;
}
int main() {
  setlocale(LC_ALL, "Russian");
  int *a = new int[RAZMER * RAZMER], *b = new int[RAZMER * RAZMER], *c = new int[RAZMER * RAZMER], *c2 = new int[RAZMER * RAZMER];
  for (int i = 0; i < RAZMER * RAZMER; i++) { a[i] = rand() % 10; b[i] = rand() % 10; }
  int *da, *db, *dc;
  int bytes = RAZMER * RAZMER * sizeof(int);
  cudaMalloc((void**)&da, bytes); cudaMalloc((void**)&db, bytes); cudaMalloc((void**)&dc, bytes);
  cudaMemcpy(da, a, bytes, cudaMemcpyHostToDevice); cudaMemcpy(db, b, bytes, cudaMemcpyHostToDevice);
  umnozhenieOdinPotok<<<1, 1>>>(da, db, dc);
  cudaMemcpy(c, dc, bytes, cudaMemcpyDeviceToHost);
  umnozhenieMnogoPotokov<<<dim3(RAZMER / BLOK, RAZMER / BLOK), dim3(BLOK, BLOK)>>>(da, db, dc);
  cudaMemcpy(c2, dc, bytes, cudaMemcpyDeviceToHost);
  bool ok = true;
  for (int i = 0; i < RAZMER * RAZMER; i++) if (c[i] != c2[i]) ok = false;
  cout << (ok ? "verno" : "neverno") << endl;
  cudaFree(da); cudaFree(db); cudaFree(dc);
  delete[] a; delete[] b; delete[] c; delete[] c2;
}
