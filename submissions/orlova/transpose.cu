// Орлова К., ИП-312: ядра-шаблоны, простое ядро ещё не написано
#include <cstdio>
#include <cuda_runtime.h>

__global__ void transpose_naive(const float *in, float *out, int rows, int cols)
{
}

template <int SIZE, int PAD>
__device__ void through_tile(const float *in, float *out, int rows, int cols)
{
    __shared__ float tile[SIZE][SIZE + PAD];
    int col = blockIdx.x * SIZE + threadIdx.x;
    int row = blockIdx.y * SIZE + threadIdx.y;
    if (row < rows && col < cols)
        tile[threadIdx.y][threadIdx.x] = in[row * cols + col];
    __syncthreads();
    int to_col = blockIdx.y * SIZE + threadIdx.x;
    int to_row = blockIdx.x * SIZE + threadIdx.y;
    if (to_row < cols && to_col < rows)
        out[to_row * rows + to_col] = tile[threadIdx.x][threadIdx.y];
}

template <int SIZE>
__global__ void transpose_shared(const float *in, float *out, int rows, int cols)
{
    through_tile<SIZE, 0>(in, out, rows, cols);
}

template <int SIZE>
__global__ void transpose_padded(const float *in, float *out, int rows, int cols)
{
    through_tile<SIZE, 1>(in, out, rows, cols);
}

int main()
{
    const int rows = 777, cols = 555;
    float *in, *out;
    cudaMalloc(&in, rows * cols * sizeof(float));
    cudaMalloc(&out, rows * cols * sizeof(float));
    cudaMemset(in, 0, rows * cols * sizeof(float));
    dim3 block(32, 32), grid((cols + 31) / 32, (rows + 31) / 32);
    transpose_naive<<<grid, block>>>(in, out, rows, cols);
    transpose_shared<32><<<grid, block>>>(in, out, rows, cols);
    transpose_padded<32><<<grid, block>>>(in, out, rows, cols);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(in);
    cudaFree(out);
}
