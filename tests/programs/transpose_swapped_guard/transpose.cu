#include <cstdio>
#include <cstdlib>

#define cudaCheckErrors(msg)                                              \
    do {                                                                  \
        cudaError_t __err = cudaGetLastError();                           \
        if (__err != cudaSuccess) {                                       \
            fprintf(stderr, "Fatal error: %s (%s at %s:%d)\n", msg,       \
                    cudaGetErrorString(__err), __FILE__, __LINE__);       \
            exit(1);                                                      \
        }                                                                 \
    } while (0)

__global__ void naive(const float* in, float* out, int rows, int cols) {
    int c = threadIdx.x + blockDim.x * blockIdx.x;
    int r = threadIdx.y + blockDim.y * blockIdx.y;
    if (r < cols && c < rows)
        out[c * rows + r] = in[r * cols + c];
}

int main(int argc, char** argv) {
    int rows = argc > 1 ? atoi(argv[1]) : 64;
    int cols = argc > 2 ? atoi(argv[2]) : rows;
    size_t size = (size_t)rows * cols * sizeof(float);
    float* h_in = new float[rows * cols];
    float* h_out = new float[rows * cols]();
    for (int i = 0; i < rows * cols; ++i) h_in[i] = rand() / (float)RAND_MAX;
    float *d_in, *d_out;
    cudaMalloc(&d_in, size);
    cudaMalloc(&d_out, size);
    cudaCheckErrors("cudaMalloc failure");
    cudaMemcpy(d_in, h_in, size, cudaMemcpyHostToDevice);
    cudaCheckErrors("cudaMemcpy H2D failure");
    dim3 block = {16, 16};
    dim3 grid = {(cols + block.x - 1) / block.x, (rows + block.y - 1) / block.y};
    naive <<< grid, block >>> (d_in, d_out, rows, cols);
    cudaCheckErrors("kernel launch failure");
    cudaMemcpy(h_out, d_out, size, cudaMemcpyDeviceToHost);
    cudaCheckErrors("cudaMemcpy D2H failure");
    for (int r = 0; r < rows; ++r)
        for (int c = 0; c < cols; ++c)
            if (h_out[c * rows + r] != h_in[r * cols + c]) {
                printf("mismatch at row %d column %d\n", r, c);
                return 1;
            }
    printf("Success!\n");
    cudaFree(d_in);
    cudaFree(d_out);
    delete[] h_in;
    delete[] h_out;
    return 0;
}
