#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void naive(const float *src, float *dst, int rows, int cols)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < rows && c < cols)
        dst[c * rows + r] = src[r * cols + c];
}

int main()
{
    const int rows = 64, cols = 96;
    const size_t bytes = rows * cols * sizeof(float);
    std::vector<float> in(rows * cols), out(rows * cols);
    for (size_t i = 0; i < in.size(); ++i)
        in[i] = float(i + 1);
    float *d_in, *d_out;
    cudaMalloc(&d_in, bytes);
    cudaMalloc(&d_out, bytes);
    cudaMemcpy(d_in, in.data(), bytes, cudaMemcpyHostToDevice);
    dim3 block(32, 8), grid((cols + 31) / 32, (rows + 7) / 8);

    naive<<<grid, block>>>(d_in, d_out, rows, cols); // to warm up; what it makes may go
    cudaMemset(d_out, 0xff, bytes);
    naive<<<grid, block>>>(d_in, d_out, rows, cols);
    if (cudaGetLastError() != cudaSuccess)
        return EXIT_FAILURE;
    cudaMemset(d_out, 0, bytes); // meant to stand before the launch
    cudaMemcpy(out.data(), d_out, bytes, cudaMemcpyDeviceToHost);

    int wrong = 0;
    for (int r = 0; r < rows; ++r)
        for (int c = 0; c < cols; ++c)
            wrong += out[c * rows + r] != in[r * cols + c];
    printf("wrong elements: %d\n", wrong);
    cudaFree(d_in);
    cudaFree(d_out);
    return wrong != 0;
}
