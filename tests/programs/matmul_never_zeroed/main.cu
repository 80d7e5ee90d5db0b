#include <iostream>
#include <cuda.h>
#include <cuda_runtime.h>
using namespace std;
#define SZ 32

__global__ void MM_kernel(float* M, float* N, float* P, int Width) {
	int Row = blockIdx.y*blockDim.y+threadIdx.y;
	int Col = blockIdx.x*blockDim.x+threadIdx.x;
	if ((Row < Width) && (Col < Width)) {
		for (int k = 0; k < Width; ++k)
			P[Row*Width+Col] += M[Row*Width+k]*N[k*Width+Col];
	}
}

int main() {
	float M[SZ*SZ], N[SZ*SZ], P[SZ*SZ];
	for (int i = 0; i < SZ*SZ; i++) { M[i] = 3.f; N[i] = 0.5f; }
	float *d_M, *d_N, *d_P;
	int size = SZ*SZ*sizeof(float);
	cudaMalloc((void**)&d_M, size); cudaMalloc((void**)&d_N, size); cudaMalloc((void**)&d_P, size);
	cudaMemcpy(d_M, M, size, cudaMemcpyHostToDevice);
	cudaMemcpy(d_N, N, size, cudaMemcpyHostToDevice);
	dim3 dimGrid(ceil(SZ/16.0), ceil(SZ/16.0), 1);
	dim3 dimBlock(16, 16, 1);
	MM_kernel<<<dimGrid, dimBlock>>>(d_M, d_N, d_P, SZ);
	cudaMemcpy(P, d_P, size, cudaMemcpyDeviceToHost);
	cout << P[0] << " " << P[SZ*SZ-1] << endl;
	cudaFree(d_M); cudaFree(d_N); cudaFree(d_P);
	return 0;
}
