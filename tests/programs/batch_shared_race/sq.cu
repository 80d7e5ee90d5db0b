#include <stdio.h>
#include <math.h>
#define K 4
#define TPB 32

__global__ void squareShared(float *A, float *B, int n, int num)
{
	extern __shared__ float sh[];
	int id = blockIdx.x*blockDim.x + threadIdx.x;
	if(id < num)
		for(int i = 0; i < n*n; i++)
			sh[i] = A[id*n*n + i];      /* у всех потоков одно место */
	__syncthreads();
	if(id < num)
		for(int i = 0; i < n; i++)
			for(int j = 0; j < n; j++) {
				float s = 0;
				for(int k = 0; k < n; k++) s += sh[i*n + k]*sh[k*n + j];
				B[id*n*n + i*n + j] = s;
			}
}

int main() {
	float a[TPB*2][K][K], b[TPB*2][K][K], *da, *db;
	for(int m = 0; m < TPB*2; m++) for(int i = 0; i < K; i++) for(int j = 0; j < K; j++) a[m][i][j] = 1.f/(1 + m + i + j);
	cudaMalloc(&da, sizeof(a)); cudaMalloc(&db, sizeof(b));
	cudaMemcpy(da, a, sizeof(a), cudaMemcpyHostToDevice);
	squareShared<<<2, TPB, TPB*K*K*sizeof(float)>>>(da, db, K, TPB*2);
	cudaMemcpy(b, db, sizeof(b), cudaMemcpyDeviceToHost);
	float x = 0;
	for(int k = 0; k < K; k++) x += a[0][0][k]*a[0][k][0];
	printf(fabs(b[0][0][0] - x) < 1e-5 ? "ok\n" : "wrong\n");
	cudaFree(da); cudaFree(db);
}
