#include "cuda_runtime.h"
#include "device_launch_parameters.h"
#include <stdio.h>

const int THREADS = 16, RADIUS = 2, SIZE = 64;

__global__ void kernel_simple(float *d_input, float *d_output, int count)
{
	int tid = threadIdx.x + blockIdx.x * blockDim.x;
	if (tid < RADIUS || tid >= count - RADIUS)
	{
		if (tid < count) d_output[tid] = d_input[tid];
	}
	else
	{
		float sum = 0;
		for (int i = tid - RADIUS; i <= tid + RADIUS; i++)
			sum += d_input[i];
		d_output[tid] = sum / (2 * RADIUS + 1);
	}
}

__global__ void kernel_shared(float *d_input, float *d_output, int count)
{
	__shared__ float s_data[THREADS + 2 * RADIUS];
	int tid = threadIdx.x + blockIdx.x * blockDim.x;
	int sid = threadIdx.x + RADIUS;
	s_data[sid] = d_input[tid];
	if (threadIdx.x < RADIUS)
	{
		s_data[sid - RADIUS] = d_input[tid - RADIUS];
		s_data[sid + THREADS] = d_input[tid + THREADS];
	}
	__syncthreads();
	if (tid < RADIUS || tid >= count - RADIUS)
		d_output[tid] = d_input[tid];
	else
	{
		float sum = 0;
		for (int i = -RADIUS; i <= RADIUS; i++)
			sum += s_data[sid + i];
		d_output[tid] = sum / (2 * RADIUS + 1);
	}
}

int main()
{
	float h_in[SIZE], h_out[SIZE];
	for (int i = 0; i < SIZE; i++) h_in[i] = (float)(i * i);
	float *d_in, *d_out;
	cudaMalloc((void**)&d_in, SIZE * sizeof(float));
	cudaMalloc((void**)&d_out, SIZE * sizeof(float));
	cudaMemcpy(d_in, h_in, SIZE * sizeof(float), cudaMemcpyHostToDevice);
	kernel_simple<<<SIZE / THREADS, THREADS>>>(d_in, d_out, SIZE);
	cudaMemcpy(h_out, d_out, SIZE * sizeof(float), cudaMemcpyDeviceToHost);
	printf("%.1f %.1f %.1f\n", h_out[0], h_out[2], h_out[10]);
	kernel_shared<<<SIZE / THREADS, THREADS>>>(d_in, d_out, SIZE);
	cudaMemcpy(h_out, d_out, SIZE * sizeof(float), cudaMemcpyDeviceToHost);
	printf("%.1f %.1f %.1f\n", h_out[0], h_out[2], h_out[10]);
	cudaFree(d_in);
	cudaFree(d_out);
	return 0;
}
