#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                       \
    do {                                                                                  \
        cudaError_t error = (call);                                                       \
        if (error != cudaSuccess) {                                                       \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error)); \
            exit(1);                                                                      \
        }                                                                                 \
    } while (0)

__global__ void scale(const float *in, float *out, int count)
{
    // Your code.
}

int main()
{
    const int count = 1000000, threads = 256;
    std::vector<float> in(count), out(count);
    for (int i = 0; i < count; ++i)
        in[i] = (float)i;
    float *d_in, *d_out;
    CHECK(cudaMalloc(&d_in, count * sizeof(float)));
    CHECK(cudaMalloc(&d_out, count * sizeof(float)));
    CHECK(cudaMemcpy(d_in, in.data(), count * sizeof(float), cudaMemcpyHostToDevice));

    scale<<<(count + threads - 1) / threads, threads>>>(d_in, d_out, count);
    CHECK(cudaGetLastError());

    CHECK(cudaMemcpy(out.data(), d_out, count * sizeof(float), cudaMemcpyDeviceToHost));
    // Compare `out` with what the CPU computes.
    return 0;
}
