// out[0] = in[0] + in[1] + … + in[n - 1].  `in` and `out` are pointers to the device's memory; out[0] begins at 0.
// Write the kernels and their launches.  Build with:  nvcc -o vector-sum starter.cu
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

__global__ void sum(const float *in, float *out, int n)
{
}

// The grader calls this function; the rest of the file is yours.
void solve(const float *in, float *out, int n)
{
}

int main()
{
    const int n = 100000;
    std::vector<float> in(n, 0.25f);

    float *d_in, *d_out, out = 0;
    CHECK(cudaMalloc(&d_in, n * sizeof(float)));
    CHECK(cudaMalloc(&d_out, sizeof(float)));
    CHECK(cudaMemcpy(d_in, in.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemset(d_out, 0, sizeof(float)));

    solve(d_in, d_out, n);
    CHECK(cudaGetLastError());

    CHECK(cudaMemcpy(&out, d_out, sizeof(float), cudaMemcpyDeviceToHost));
    printf("%f, expected %f\n", out, 0.25 * n);

    CHECK(cudaFree(d_in));
    CHECK(cudaFree(d_out));
    return out != 0.25f * n;
}
