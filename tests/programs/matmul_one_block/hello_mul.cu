#include<iostream>
#include<iomanip>
using namespace std;

#define N 20

__global__ void matrixMult(int a[N][N], int b[N][N], int c[N][N])
{
	int x = threadIdx.x, y = threadIdx.y;
	int sum = 0;
	for (int k = 0; k < N; k++)
		sum = sum + a[y][k] * b[k][x];
	c[y][x] = sum;
}

int main()
{
	int a[N][N], b[N][N], c[N][N];
	int (*pA)[N], (*pB)[N], (*pC)[N];
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++) { a[i][j] = i; b[i][j] = j; }

	cudaMalloc((void**)&pA, (N*N)*sizeof(int));
	cudaMalloc((void**)&pB, (N*N)*sizeof(int));
	cudaMalloc((void**)&pC, (N*N)*sizeof(int));

	cudaMemcpy(pA, a, (N*N)*sizeof(int), cudaMemcpyHostToDevice);
	cudaMemcpy(pB, b, (N*N)*sizeof(int), cudaMemcpyHostToDevice);

	int numBlocks = 1;
	dim3 threadsPerBlock(N,N);
	matrixMult<<<numBlocks,threadsPerBlock>>>(pA,pB,pC);

	cudaMemcpy(c, pC, (N*N)*sizeof(int), cudaMemcpyDeviceToHost);

	for (int j = 0; j < 3; j++) {
		for (int i = 0; i < 3; i++) cout << setw(5) << c[j][i];
		cout << endl;
	}
	cudaFree(pA);
	cudaFree(pB);
	cudaFree(pC);
}
