#include <cstdio>
#include <vector>
const int DIM = 32;
__global__ void k1(const float *src, float *dst, int rows, int cols) {
    int c = blockIdx.x * DIM + threadIdx.x, r = blockIdx.y * DIM + threadIdx.y;
    if (r < rows && c < cols) dst[c * rows + r] = src[r * cols + c];
}
__global__ void k2(const float *src, float *dst, int rows, int cols) {
    __shared__ float buf[DIM][DIM];
    int c = blockIdx.x * DIM + threadIdx.x, r = blockIdx.y * DIM + threadIdx.y;
    if (r < rows && c < cols) buf[threadIdx.y][threadIdx.x] = src[r * cols + c];
    __syncthreads();
    c = blockIdx.y * DIM + threadIdx.x; r = blockIdx.x * DIM + threadIdx.y;
    if (r < cols && c < rows) dst[r * rows + c] = buf[threadIdx.x][threadIdx.y];
}
__global__ void k3(const float *src, float *dst, int rows, int cols) {
    __shared__ float buf[DIM + 1][DIM];
    int c = blockIdx.x * DIM + threadIdx.x, r = blockIdx.y * DIM + threadIdx.y;
    if (r < rows && c < cols) buf[threadIdx.y][threadIdx.x] = src[r * cols + c];
    __syncthreads();
    c = blockIdx.y * DIM + threadIdx.x; r = blockIdx.x * DIM + threadIdx.y;
    if (r < cols && c < rows) dst[r * rows + c] = buf[threadIdx.x][threadIdx.y];
}
static void report(const char *name, const std::vector<float> &a, const std::vector<float> &b, int rows, int cols) {
    int errors = 0;
    for (int r = 0; r < rows; r++) for (int c = 0; c < cols; c++) errors += a[r * cols + c] != b[c * rows + r];
    printf("%s: %s\n", name, errors ? "WRONG" : "correct");
}
int main() {
    const int rows = 96, cols = 160;
    std::vector<float> a(rows * cols), b(rows * cols);
    for (int i = 0; i < rows * cols; i++) a[i] = (float)(i % 1013);
    float *d_src, *d_dst;
    cudaMalloc((void **)&d_src, a.size() * 4);
    cudaMalloc((void **)&d_dst, b.size() * 4);
    cudaMemcpy(d_src, a.data(), a.size() * 4, cudaMemcpyHostToDevice);
    dim3 t(DIM, DIM), g((cols + DIM - 1) / DIM, (rows + DIM - 1) / DIM);
    k1<<<g, t>>>(d_src, d_dst, rows, cols);
    cudaMemcpy(b.data(), d_dst, b.size() * 4, cudaMemcpyDeviceToHost);
    report("naive", a, b, rows, cols);
    k2<<<g, t>>>(d_src, d_dst, rows, cols);
    cudaMemcpy(b.data(), d_dst, b.size() * 4, cudaMemcpyDeviceToHost);
    report("shared", a, b, rows, cols);
    k3<<<g, t>>>(d_src, d_dst, rows, cols);
    cudaMemcpy(b.data(), d_dst, b.size() * 4, cudaMemcpyDeviceToHost);
    report("padded, no bank conflicts", a, b, rows, cols);
    cudaFree(d_src); cudaFree(d_dst);
}
