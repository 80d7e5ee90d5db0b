// out[0] = the largest of in[0], in[1], …, in[n - 1].  `in` and `out` are pointers to the device's memory.
// Write the kernels and their launches.  Build with:  nvcc -o vector-max starter.cu
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                    \
    do {                                                                               \
        cudaError_t status = (call);                                                   \
        if (status != cudaSuccess) {                                                   \
            fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(status));    \
            exit(1);                                                                   \
        }                                                                              \
    } while (0)

__global__ void largest(const float *in, float *out, int n)
{
}

// The grader calls this function; the rest of the file is yours.
void solve(const float *in, float *out, int n)
{
}

int main()
{
    const int n = 100000;
    std::vector<float> in(n);
    for (int i = 0; i < n; ++i)
        in[i] = -1.0f - rand() % 10000;

    float *d_in, *d_out, out;
    CHECK(cudaMalloc(&d_in, n * sizeof(float)));
    CHECK(cudaMalloc(&d_out, sizeof(float)));
    CHECK(cudaMemcpy(d_in, in.data(), n * sizeof(float), cudaMemcpyHostToDevice));

    solve(d_in, d_out, n);
    CHECK(cudaGetLastError());

    CHECK(cudaMemcpy(&out, d_out, sizeof(float), cudaMemcpyDeviceToHost));
    const float expected = *std::max_element(in.begin(), in.end());
    printf("%f, expected %f\n", out, expected);

    CHECK(cudaFree(d_in));
    CHECK(cudaFree(d_out));
    return out != expected;
}
