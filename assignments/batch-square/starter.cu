// Squares of `count` matrices of n × n elements, one after another.
// Write the two kernels.  Build with:  nvcc -o batch starter.cu
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

// One thread per matrix, directly from global memory.
__global__ void square_simple(const float *in, float *out, int n, int count)
{
}

// The same through shared memory: blockDim.x * n * n numbers.
__global__ void square_shared(const float *in, float *out, int n, int count)
{
    extern __shared__ float matrices[];
}

int main()
{
    const int n = 5, count = 1000, threads = 256;
    const size_t bytes = sizeof(float) * count * n * n;
    float *in = (float *)malloc(bytes), *out = (float *)malloc(bytes);
    for (int i = 0; i < count * n * n; ++i)
        in[i] = rand() / (float)RAND_MAX;

    float *d_in, *d_out;
    CHECK(cudaMalloc(&d_in, bytes));
    CHECK(cudaMalloc(&d_out, bytes));
    CHECK(cudaMemcpy(d_in, in, bytes, cudaMemcpyHostToDevice));

    const int blocks = (count + threads - 1) / threads;
    square_simple<<<blocks, threads>>>(d_in, d_out, n, count);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(out, d_out, bytes, cudaMemcpyDeviceToHost));
    // Compare `out` with what the CPU computes, then do the same for the other kernel, and measure both:
    //   square_shared<<<blocks, threads, threads * n * n * sizeof(float)>>>(d_in, d_out, n, count);

    CHECK(cudaFree(d_in));
    CHECK(cudaFree(d_out));
    free(in);
    free(out);
    return 0;
}
