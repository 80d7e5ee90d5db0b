// Matrix transposition: out[c][r] = in[r][c], `in` has rows × cols elements, row by row.
// Write the three kernels.  Build with:  nvcc -o transpose starter.cu
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                    \
    do {                                                                               \
        cudaError_t status = (call);                                                   \
        if (status != cudaSuccess) {                                                   \
            fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(status));    \
            exit(1);                                                                   \
        }                                                                              \
    } while (0)

const int TILE = 32;

// Directly through global memory.
__global__ void transpose_naive(const float *in, float *out, int rows, int cols)
{
}

// Through a tile in shared memory, bank conflicts allowed.
__global__ void transpose_shared(const float *in, float *out, int rows, int cols)
{
}

// Through a tile in shared memory, without bank conflicts.
__global__ void transpose_padded(const float *in, float *out, int rows, int cols)
{
}

int main()
{
    const int rows = 1000, cols = 1500;
    const size_t bytes = sizeof(float) * rows * cols;
    float *in = (float *)malloc(bytes), *out = (float *)malloc(bytes);
    for (int i = 0; i < rows * cols; ++i)
        in[i] = (float)i;

    float *d_in, *d_out;
    CHECK(cudaMalloc(&d_in, bytes));
    CHECK(cudaMalloc(&d_out, bytes));
    CHECK(cudaMemcpy(d_in, in, bytes, cudaMemcpyHostToDevice));

    const dim3 block(TILE, TILE);
    const dim3 grid((cols + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
    transpose_naive<<<grid, block>>>(d_in, d_out, rows, cols);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(out, d_out, bytes, cudaMemcpyDeviceToHost));
    // Compare `out` with the expected result here, then do the same for the other two, and measure their times.

    CHECK(cudaFree(d_in));
    CHECK(cudaFree(d_out));
    free(in);
    free(out);
    return 0;
}
