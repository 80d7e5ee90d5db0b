/* Теплопроводность: пластина, явная схема, коэффициенты в константной памяти. */
#include "cuda_runtime.h"
#include "device_launch_parameters.h"

#include <stdio.h>
#include <stdlib.h>
#include <math.h>

#define NX 40
#define NY 30
#define BX 16
#define BY 8
#define STEPS 20

__constant__ float coef[3];
__device__ unsigned int d_changed;

__global__ void init(float *u)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	int j = blockIdx.y * blockDim.y + threadIdx.y;

	if (i < NX && j < NY)
	{
		float value = 0.0f;
		if (j == 0)
			value = 100.0f;
		if (i == 0 || i == NX - 1)
			value = 50.0f;
		u[j * NX + i] = value;
	}
}

__global__ void step(const float *u, float *v)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	int j = blockIdx.y * blockDim.y + threadIdx.y;

	if (i >= NX || j >= NY)
		return;

	int k = j * NX + i;
	if (i == 0 || j == 0 || i == NX - 1 || j == NY - 1)
	{
		v[k] = u[k];
		return;
	}
	float next = coef[0] * u[k]
	           + coef[1] * (u[k - 1] + u[k + 1])
	           + coef[2] * (u[k - NX] + u[k + NX]);
	v[k] = next;
	if (fabsf(next - u[k]) > 1e-3f)
		atomicAdd(&d_changed, 1u);
}

void initCpu(float *u)
{
	int i, j;

	for (j = 0; j < NY; j++)
	{
		for (i = 0; i < NX; i++)
		{
			u[j * NX + i] = (i == 0 || i == NX - 1) ? 50.0f : (j == 0 ? 100.0f : 0.0f);
		}
	}
}

void stepCpu(const float *u, float *v, const float *c)
{
	int i, j;

	for (j = 0; j < NY; j++)
	{
		for (i = 0; i < NX; i++)
		{
			int k = j * NX + i;
			if (i == 0 || j == 0 || i == NX - 1 || j == NY - 1)
				v[k] = u[k];
			else
				v[k] = c[0] * u[k] + c[1] * (u[k - 1] + u[k + 1]) + c[2] * (u[k - NX] + u[k + NX]);
		}
	}
}

/* печать температуры цифрами: 0 - холодно, 9 - горячо */
void picture(const float *u)
{
	int i, j;

	for (j = 0; j < NY; j += 6)
	{
		for (i = 0; i < NX; i += 4)
		{
			int digit = (int)(u[j * NX + i] / 10.01f);
			if (digit < 0)
				digit = 0;
			if (digit > 9)
				digit = 9;
			putchar('0' + digit);
		}
		putchar('\n');
	}
}

/* среднее по внутренним точкам */
double average(const float *u)
{
	double sum = 0;
	int i, j;

	for (j = 1; j < NY - 1; j++)
	{
		for (i = 1; i < NX - 1; i++)
		{
			sum += u[j * NX + i];
		}
	}
	return sum / ((NX - 2) * (NY - 2));
}

#define TRY(operation)                                                          \
	{                                                                           \
		cudaError_t status = operation;                                         \
		if (status != cudaSuccess)                                              \
		{                                                                       \
			printf("Ошибка %s в строке %d\n", cudaGetErrorName(status), __LINE__); \
			goto Error;                                                         \
		}                                                                       \
	}

int main()
{
	const size_t bytes = NX * NY * sizeof(float);
	float c[3] = { 0.4f, 0.15f, 0.15f };
	float *u = 0, *v = 0, *host, *a, *b;
	unsigned int changed, zero = 0;
	int s, exitCode = 1;
	float worst = 0;
	dim3 threads, blocks;

	host = (float *)malloc(bytes);
	a = (float *)malloc(bytes);
	b = (float *)malloc(bytes);

	threads.x = BX;
	threads.y = BY;
	threads.z = 1;
	blocks.x = (NX + BX - 1) / BX;
	blocks.y = (NY + BY - 1) / BY;
	blocks.z = 1;

	TRY(cudaSetDevice(0));
	TRY(cudaMalloc((void **)&u, bytes));
	TRY(cudaMalloc((void **)&v, bytes));
	TRY(cudaMemcpyToSymbol(coef, c, sizeof(c)));

	init<<<blocks, threads>>>(u);
	TRY(cudaGetLastError());

	for (s = 0; s < STEPS; s++)
	{
		float *t;

		TRY(cudaMemcpyToSymbol(d_changed, &zero, sizeof(zero)));
		step<<<blocks, threads>>>(u, v);
		TRY(cudaGetLastError());
		t = u;
		u = v;
		v = t;
		TRY(cudaMemcpyFromSymbol(&changed, d_changed, sizeof(changed)));
		if (changed == 0)
			break;
	}
	TRY(cudaMemcpy(host, u, bytes, cudaMemcpyDeviceToHost));

	initCpu(a);
	for (s = 0; s < STEPS; s++)
	{
		float *t;

		stepCpu(a, b, c);
		t = a;
		a = b;
		b = t;
	}
	for (s = 0; s < NX * NY; s++)
	{
		float d = fabsf(host[s] - a[s]);
		if (d > worst)
			worst = d;
	}
	printf("Сетка %d x %d, шагов %d\n", NX, NY, STEPS);
	printf("Отличие от CPU %s\n", worst < 1e-3f ? "мало" : "ВЕЛИКО");
	printf("Изменившихся точек на последнем шаге: %s\n", changed > 0 ? "есть" : "нет");
	printf("Край: %.0f %.0f %.0f\n", host[0], host[5], host[(NY - 1) * NX + 5]);
	if (average(host) <= 0 || average(host) >= 100)
		picture(host);
	exitCode = worst < 1e-3f ? 0 : 2;

Error:
	cudaFree(u);
	cudaFree(v);
	free(host);
	free(a);
	free(b);
	cudaDeviceReset();
	return exitCode;
}
