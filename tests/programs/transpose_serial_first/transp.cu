/* Трнаспонирование: сначала 1 поток, потом поток на строку, потом поток на элемент */
#include <stdio.h>
#include <stdlib.h>
#include <assert.h>

const int N= 64;	// matrix size is NxN
const int K= 16;	// tile size is KxK

struct GpuTimer {
	cudaEvent_t a, b;
	GpuTimer() { cudaEventCreate(&a); cudaEventCreate(&b); }
	~GpuTimer() { cudaEventDestroy(a); cudaEventDestroy(b); }
	void Start() { cudaEventRecord(a, 0); }
	void Stop() { cudaEventRecord(b, 0); }
	float Elapsed() { float t; cudaEventSynchronize(b); cudaEventElapsedTime(&t, a, b); return t; }
};

int compare_matrices(float *gpu, float *ref)
{
	int result = 0;
	for(int j=0; j < N; j++)
    	for(int i=0; i < N; i++)
    		if (ref[i + j*N] != gpu[i + j*N])
    			result = 1;
    return result;
}

void transpose_CPU(float in[], float out[])
{
	for(int j=0; j < N; j++)
    	for(int i=0; i < N; i++)
      		out[j + i*N] = in[i + j*N];
}

// to be launched on a single thread
__global__ void
transpose_serial(float in[], float out[])
{
	for(int j=0; j < N; j++)
		for(int i=0; i < N; i++)
			out[j + i*N] = in[i + j*N];
}

// to be launched with one thread per row of output matrix
__global__ void
transpose_parallel_per_row(float in[], float out[])
{
	int i = threadIdx.x;
	for(int j=0; j < N; j++)
		out[j + i*N] = in[i + j*N];
}

// to be launched with one thread per element, in KxK threadblocks
__global__ void
transpose_parallel_per_element(float in[], float out[])
{
	int i = blockIdx.x * K + threadIdx.x;
	int j = blockIdx.y * K + threadIdx.y;
	out[j + i*N] = in[i + j*N];
}

// KxK tiles, padded
__global__ void
transpose_parallel_per_element_tiled_padded16(float in[], float out[])
{
	int in_corner_i  = blockIdx.x * 16, in_corner_j  = blockIdx.y * 16;
	int out_corner_i = blockIdx.y * 16, out_corner_j = blockIdx.x * 16;
	int x = threadIdx.x, y = threadIdx.y;
	__shared__ float tile[16][16+1];
	tile[y][x] = in[(in_corner_i + x) + (in_corner_j + y)*N];
	__syncthreads();
	out[(out_corner_i + x) + (out_corner_j + y)*N] = tile[x][y];
}

int main(int argc, char **argv)
{
	int numbytes = N * N * sizeof(float);
	float *in = (float *) malloc(numbytes);
	float *out = (float *) malloc(numbytes);
	float *gold = (float *) malloc(numbytes);
	for (int i = 0; i < N * N; i++) in[i] = (float)(N*N - i);
	transpose_CPU(in, gold);

	float *d_in, *d_out;
	cudaMalloc(&d_in, numbytes);
	cudaMalloc(&d_out, numbytes);
	cudaMemcpy(d_in, in, numbytes, cudaMemcpyHostToDevice);
	GpuTimer timer;

	timer.Start();
	transpose_serial<<<1,1>>>(d_in, d_out);
	timer.Stop();
	cudaMemcpy(out, d_out, numbytes, cudaMemcpyDeviceToHost);
	printf("transpose_serial: %s\n", compare_matrices(out, gold) ? "Failed" : "Success");

	cudaMemset(d_out, 0, numbytes);
	timer.Start();
	transpose_parallel_per_row<<<1,N>>>(d_in, d_out);
	timer.Stop();
	cudaMemcpy(out, d_out, numbytes, cudaMemcpyDeviceToHost);
	printf("transpose_parallel_per_row: %s\n", compare_matrices(out, gold) ? "Failed" : "Success");

	dim3 blocks(N/K,N/K);
	dim3 threads(K,K);
	cudaMemset(d_out, 0, numbytes);
	timer.Start();
	transpose_parallel_per_element<<<blocks,threads>>>(d_in, d_out);
	timer.Stop();
	cudaMemcpy(out, d_out, numbytes, cudaMemcpyDeviceToHost);
	printf("transpose_parallel_per_element: %s\n", compare_matrices(out, gold) ? "Failed" : "Success");

	dim3 blocks16x16(N/16,N/16);
	dim3 threads16x16(16,16);
	cudaMemset(d_out, 0, numbytes);
	timer.Start();
 	transpose_parallel_per_element_tiled_padded16<<<blocks16x16,threads16x16>>>(d_in, d_out);
	timer.Stop();
	cudaMemcpy(out, d_out, numbytes, cudaMemcpyDeviceToHost);
	printf("tiled padded 16x16: %s, %s\n", compare_matrices(out, gold) ? "Failed" : "Success",
		timer.Elapsed() > 0 ? "timed" : "no time");

	cudaFree(d_in);
	cudaFree(d_out);
	free(in); free(out); free(gold);
	return 0;
}
