#include <iostream>
#include <vector>
#include <cuda_runtime.h>

constexpr int DIM = 32;

// матрица width x height -> height x width
__global__ void naive_transpose(float *out, const float *in, int width, int height)
{
    int col = blockIdx.x * DIM + threadIdx.x;
    int row = blockIdx.y * DIM + threadIdx.y;
    if (col < width && row < height)
        out[col * height + row] = in[row * width + col];
}

__global__ void shared_transpose(float *out, const float *in, int width, int height)
{
    __shared__ float cache[DIM][DIM];
    int col = blockIdx.x * DIM + threadIdx.x;
    int row = blockIdx.y * DIM + threadIdx.y;
    if (col < width && row < height)
        cache[threadIdx.y][threadIdx.x] = in[row * width + col];

    int outCol = blockIdx.y * DIM + threadIdx.x;
    int outRow = blockIdx.x * DIM + threadIdx.y;
    if (outCol < height && outRow < width)
        out[outRow * height + outCol] = cache[threadIdx.x][threadIdx.y];
}

__global__ void padded_transpose(float *out, const float *in, int width, int height)
{
    __shared__ float cache[DIM][DIM + 1];
    int col = blockIdx.x * DIM + threadIdx.x;
    int row = blockIdx.y * DIM + threadIdx.y;
    if (col < width && row < height)
        cache[threadIdx.y][threadIdx.x] = in[row * width + col];
    __syncthreads();

    int outCol = blockIdx.y * DIM + threadIdx.x;
    int outRow = blockIdx.x * DIM + threadIdx.y;
    if (outCol < height && outRow < width)
        out[outRow * height + outCol] = cache[threadIdx.x][threadIdx.y];
}

int main()
{
    int width = 2000, height = 3000;
    std::vector<float> h(width * height);
    for (size_t i = 0; i < h.size(); i++)
        h[i] = i;
    float *in, *out;
    cudaMalloc(&in, h.size() * sizeof(float));
    cudaMalloc(&out, h.size() * sizeof(float));
    cudaMemcpy(in, h.data(), h.size() * sizeof(float), cudaMemcpyHostToDevice);
    dim3 block(DIM, DIM), grid((width + DIM - 1) / DIM, (height + DIM - 1) / DIM);
    naive_transpose<<<grid, block>>>(out, in, width, height);
    shared_transpose<<<grid, block>>>(out, in, width, height);
    padded_transpose<<<grid, block>>>(out, in, width, height);
    cudaMemcpy(h.data(), out, h.size() * sizeof(float), cudaMemcpyDeviceToHost);
    std::cout << h[1] << std::endl;
    cudaFree(in);
    cudaFree(out);
}
