#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define T 32

__global__ void transposeNaive(const float *in, float *out, int rows, int cols) {
    int c = blockIdx.x * T + threadIdx.x, r = blockIdx.y * T + threadIdx.y;
    if (r < rows && c < cols) out[c * rows + r] = in[r * cols + c];
}
__global__ void transposeShared(const float *in, float *out, int rows, int cols) {
    __shared__ float tile[T][T];
    int c = blockIdx.x * T + threadIdx.x, r = blockIdx.y * T + threadIdx.y;
    if (r < rows && c < cols) tile[threadIdx.y][threadIdx.x] = in[r * cols + c];
    __syncthreads();
    c = blockIdx.y * T + threadIdx.x;
    r = blockIdx.x * T + threadIdx.y;
    if (r < cols && c < rows) out[r * rows + c] = tile[threadIdx.x][threadIdx.y];
}
__global__ void transposePadded(const float *in, float *out, int rows, int cols) {
    __shared__ float tile[T][T + 1];
    int c = blockIdx.x * T + threadIdx.x, r = blockIdx.y * T + threadIdx.y;
    if (r < rows && c < cols) tile[threadIdx.y][threadIdx.x] = in[r * cols + c];
    __syncthreads();
    c = blockIdx.y * T + threadIdx.x;
    r = blockIdx.x * T + threadIdx.y;
    if (r < cols && c < rows) out[r * rows + c] = tile[threadIdx.x][threadIdx.y];
}

static void check(const char *name, const float *h_in, const float *h_out, int rows, int cols) {
    for (int r = 0; r < rows; ++r)
        for (int c = 0; c < cols; ++c)
            if (h_out[c * rows + r] != h_in[r * cols + c]) { printf("%s: wrong\n", name); return; }
    printf("%s: correct\n", name);
}

int main() {
    const int rows = 512, cols = 256;
    size_t bytes = (size_t)rows * cols * sizeof(float);
    float *h_in = (float *)malloc(bytes), *h_out = (float *)malloc(bytes);
    for (int i = 0; i < rows * cols; ++i) h_in[i] = i;
    float *d_in, *d_out;
    cudaMalloc(&d_in, bytes);
    cudaMalloc(&d_out, bytes);
    cudaMemcpy(d_in, h_in, bytes, cudaMemcpyHostToDevice);
    dim3 block(T, T), grid((cols + T - 1) / T, (rows + T - 1) / T);
    transposeNaive<<<grid, block>>>(d_in, d_out, rows, cols);
    if (cudaGetLastError() != cudaSuccess) return 1;
    cudaMemcpy(h_out, d_out, bytes, cudaMemcpyDeviceToHost);
    check("naive", h_in, h_out, rows, cols);
    cudaMemset(d_out, 0, bytes);
    transposeShared<<<grid, block>>>(d_out, d_in, rows, cols);
    if (cudaGetLastError() != cudaSuccess) return 1;
    cudaMemcpy(h_out, d_out, bytes, cudaMemcpyDeviceToHost);
    check("shared", h_in, h_out, rows, cols);
    cudaMemset(d_out, 0, bytes);
    transposePadded<<<grid, block>>>(d_in, d_out, rows, cols);
    if (cudaGetLastError() != cudaSuccess) return 1;
    cudaMemcpy(h_out, d_out, bytes, cudaMemcpyDeviceToHost);
    check("padded", h_in, h_out, rows, cols);
    cudaFree(d_in);
    cudaFree(d_out);
    return 0;
}
