// Matrix multiplication: C = A·B, all of n × n elements, row by row.
// Write the five kernels.  Build with:  nvcc -o matmul starter.cu
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

const int S = 16; // side of a block and of a tile

// One thread per element of C.
__global__ void matmul_naive(const float *A, const float *B, float *C, int n)
{
}

// One block per row of C; the row of A in shared memory, n * sizeof(float) bytes.
__global__ void matmul_row(const float *A, const float *B, float *C, int n)
{
}

// One block per column of C; the column of B in shared memory, n * sizeof(float) bytes.
__global__ void matmul_column(const float *A, const float *B, float *C, int n)
{
}

// Tiles of S × S elements of A and B in shared memory.
__global__ void matmul_block(const float *A, const float *B, float *C, int n)
{
}

// One of the above with its inner loop unrolled.
__global__ void matmul_unrolled(const float *A, const float *B, float *C, int n)
{
}

int main()
{
    const int n = 1024;
    const size_t bytes = sizeof(float) * n * n;
    float *A = (float *)malloc(bytes), *B = (float *)malloc(bytes), *C = (float *)malloc(bytes);
    for (int i = 0; i < n * n; ++i) {
        A[i] = rand() / (float)RAND_MAX;
        B[i] = rand() / (float)RAND_MAX;
    }

    float *d_A, *d_B, *d_C;
    CHECK(cudaMalloc(&d_A, bytes));
    CHECK(cudaMalloc(&d_B, bytes));
    CHECK(cudaMalloc(&d_C, bytes));
    CHECK(cudaMemcpy(d_A, A, bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_B, B, bytes, cudaMemcpyHostToDevice));

    const dim3 block(S, S);
    const dim3 grid((n + S - 1) / S, (n + S - 1) / S);
    matmul_naive<<<grid, block>>>(d_A, d_B, d_C, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(C, d_C, bytes, cudaMemcpyDeviceToHost));
    // Compare C with the product computed on the CPU, then do the same for the others, and measure their times:
    //   matmul_row<<<n, 256, n * sizeof(float)>>>(d_A, d_B, d_C, n);

    CHECK(cudaFree(d_A));
    CHECK(cudaFree(d_B));
    CHECK(cudaFree(d_C));
    free(A);
    free(B);
    free(C);
    return 0;
}
