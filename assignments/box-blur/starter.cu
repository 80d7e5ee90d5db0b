// The mean of 2 * RADIUS + 1 neighbours in a vector; the first and last RADIUS elements are copied.
// Write the two kernels.  Build with:  nvcc -o blur starter.cu
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

#define RADIUS 2
#define BLOCK_SIZE 512

// Directly from global memory.
__global__ void blur_naive(const float *in, float *out, int count)
{
}

// A block's elements and RADIUS more on either side through shared memory.
__global__ void blur_shared(const float *in, float *out, int count)
{
    __shared__ float window[BLOCK_SIZE + 2 * RADIUS];
}

int main()
{
    const int count = 16 * 1024 * 1024;
    const size_t bytes = sizeof(float) * count;
    float *in = (float *)malloc(bytes), *out = (float *)malloc(bytes);
    for (int i = 0; i < count; ++i)
        in[i] = 100 * (rand() / (float)RAND_MAX);

    float *d_in, *d_out;
    CHECK(cudaMalloc(&d_in, bytes));
    CHECK(cudaMalloc(&d_out, bytes));
    CHECK(cudaMemcpy(d_in, in, bytes, cudaMemcpyHostToDevice));

    const int blocks = (count + BLOCK_SIZE - 1) / BLOCK_SIZE;
    blur_naive<<<blocks, BLOCK_SIZE>>>(d_in, d_out, count);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(out, d_out, bytes, cudaMemcpyDeviceToHost));
    // Compare `out` with what the CPU computes, then do the same for the other kernel, and measure both.

    CHECK(cudaFree(d_in));
    CHECK(cudaFree(d_out));
    free(in);
    free(out);
    return 0;
}
