// Текст программы скопирован из методички (PDF)
#include <cuda.h>
#include <stdio.h>
#include <malloc.h>
#define CUDA_CHECK_RETURN(value) {\
  cudaError_t _m_cudaStat = value;\
  if (_m_cudaStat != cudaSuccess) {\
    fprintf(stderr, "Error %s at line %d in file %s\n", cudaGetErrorString(_m_cudaStat), __LINE__, __FILE__);\
    exit(1);\
  } }

__global__ void gTest1(float* a, float* b){
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  int j = threadIdx.y + blockIdx.y * blockDim.y;
  int I = gridDim.x * blockDim.x;
  b[j + i * I] = a[i + j * I];
}

int main(){
  float *da, *db, *hs;
  int num = 1 « 6;
  int x = 16, y = 16;
  CUDA_CHECK_RETURN(cudaMalloc((void**)&da, num * num * sizeof(float)));
  CUDA_CHECK_RETURN(cudaMalloc((void**)&db, num * num * sizeof(float)));
  hs = (float*)calloc(num * num, sizeof(float));
  for (int i = 0; i < num * num; i++) hs[i] = i;
  CUDA_CHECK_RETURN(cudaMemcpy(da, hs, num * num * sizeof(float), cudaMemcpyHostToDevice));
  gTest1 «< dim3(num / x, num / y), dim3(x, y) »> (da, db);
  CUDA_CHECK_RETURN(cudaGetLastError());
  CUDA_CHECK_RETURN(cudaMemcpy(hs, db, num * num * sizeof(float), cudaMemcpyDeviceToHost));
  printf("%g %g\n", hs[1], hs[num]);
  cudaFree(da);
  cudaFree(db);
  free(hs);
  return 0;
}
