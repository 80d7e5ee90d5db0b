// Visual Studio project, console application.
#include "stdafx.h"
#include "cuda_runtime.h"
#include "device_launch_parameters.h"
#include <Windows.h>
#include <conio.h>
#include <locale.h>
#include <iostream>

#define SIDE 16
#define TRACE(text) 	 
void report(const char *what, cudaError_t code) {
	if (code != cudaSuccess) {
		printf_s("%s: %s\n", what, cudaGetErrorString(code));
		_getch();
		exit(1);
	}
}

// One element a thread.
__global__ void mulGlobal(const float *a, const float *b, float *c, int n) {
	register int row = blockIdx.y * blockDim.y + threadIdx.y;
	register int col = blockIdx.x * blockDim.x + threadIdx.x;
	if (row >= n || col >= n) return;
	float sum = 0;
	for (register int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + col];
	c[row * n + col] = sum;
}

// The simple tile: no prefetch, no register blocking.
__global__ void simpleMul(const float *a, const float *b, float *c, int n) {
	__shared__ float left[SIDE][SIDE], right[SIDE][SIDE];
	int row = blockIdx.y * SIDE + threadIdx.y, col = blockIdx.x * SIDE + threadIdx.x;
	float sum = 0;
	for (int first = 0; first < n; first += SIDE) {
		left[threadIdx.y][threadIdx.x] = row < n && first + threadIdx.x < n ? a[row * n + first + threadIdx.x] : 0;
		right[threadIdx.y][threadIdx.x] = col < n && first + threadIdx.y < n ? b[(first + threadIdx.y) * n + col] : 0;
		__syncthreads();
		for (int k = 0; k < SIDE; ++k) sum += left[threadIdx.y][k] * right[k][threadIdx.x];
		__syncthreads();
	}
	if (row < n && col < n) c[row * n + col] = sum;
}

int _tmain(int argc, _TCHAR *argv[]) {
	setlocale(LC_ALL, "Russian");
	SetConsoleOutputCP(1251);
	const int n = 40;
	LARGE_INTEGER frequency, before, after;
	QueryPerformanceFrequency(&frequency);
	float *a = new float[n * n], *b = new float[n * n], *c = new float[n * n], *wanted = new float[n * n];
	for (int i = 0; i < n * n; ++i) {
		a[i] = (float)(i % 5);
		b[i] = (float)(i % 3);
	}
	DWORD start = GetTickCount();
	QueryPerformanceCounter(&before);
	for (int i = 0; i < n; ++i)
		for (int j = 0; j < n; ++j) {
			wanted[i * n + j] = 0;
			for (int k = 0; k < n; ++k) wanted[i * n + j] += a[i * n + k] * b[k * n + j];
		}
	QueryPerformanceCounter(&after);
	bool timed = after.QuadPart >= before.QuadPart && frequency.QuadPart > 0 && GetTickCount() >= start;
	TRACE("CPU")
	size_t bytes = n * n * sizeof(float);
	float *d_a, *d_b, *d_c;
	report("malloc", cudaMalloc(&d_a, bytes));
	report("malloc", cudaMalloc(&d_b, bytes));
	report("malloc", cudaMalloc(&d_c, bytes));
	report("copy", cudaMemcpy(d_a, a, bytes, cudaMemcpyHostToDevice));
	report("copy", cudaMemcpy(d_b, b, bytes, cudaMemcpyHostToDevice));
	cudaEvent_t first, last;
	cudaEventCreate(&first, NULL);
	cudaEventCreate(&last, 0);
	dim3 block(SIDE, SIDE), grid((n + SIDE - 1) / SIDE, (n + SIDE - 1) / SIDE);
	for (int way = 0; way < 2; ++way) {
		cudaEventRecord(first, 0);
		if (way == 0)
			mulGlobal<<<grid, block>>>(d_a, d_b, d_c, n);
		else
			simpleMul<<<grid, block>>>(d_a, d_b, d_c, n);
		report("launch", cudaGetLastError());
		cudaEventRecord(last, 0);
		report("kernel", cudaEventSynchronize(last));
		report("copy", cudaMemcpy(c, d_c, bytes, cudaMemcpyDeviceToHost));
		int wrong = 0;
		for (int i = 0; i < n * n; ++i) wrong += fabs(c[i] - wanted[i]) > 1e-3f;
		char line[40];
		sprintf_s(line, "%d: %d", way, wrong);
		std::cout << line << (timed ? "" : " no clock") << std::endl;
	}
	cudaEventDestroy(first);
	cudaEventDestroy(last);
	cudaFree(d_a);
	cudaFree(d_b);
	cudaFree(d_c);
	delete[] a;
	delete[] b;
	delete[] c;
	delete[] wanted;
	printf_s("Press a key");
	_getch();
	system("pause");
	return 0;
}
