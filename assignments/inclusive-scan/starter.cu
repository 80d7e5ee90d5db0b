// out[i] = in[0] + in[1] + … + in[i].  `in` and `out` are pointers to the device's memory.
// Write the kernels and their launches.  Build with:  nvcc -o inclusive-scan starter.cu
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

// Prefix sums within each block; the sum of each block goes into `sums`.
__global__ void scan_blocks(const float *in, float *out, float *sums, int n)
{
}

// Adds to each block what comes before it.
__global__ void add_sums(float *out, const float *sums, int n)
{
}

// The grader calls this function; the rest of the file is yours.
void solve(const float *in, float *out, int n)
{
}

int main()
{
    const int n = 100000;
    const size_t bytes = n * sizeof(float);
    std::vector<float> in(n), out(n);
    for (int i = 0; i < n; ++i)
        in[i] = (i % 5 - 1) * 0.25f;

    float *d_in, *d_out;
    CHECK(cudaMalloc(&d_in, bytes));
    CHECK(cudaMalloc(&d_out, bytes));
    CHECK(cudaMemcpy(d_in, in.data(), bytes, cudaMemcpyHostToDevice));

    solve(d_in, d_out, n);
    CHECK(cudaGetLastError());

    CHECK(cudaMemcpy(out.data(), d_out, bytes, cudaMemcpyDeviceToHost));
    int wrong = 0;
    float sum = 0;
    for (int i = 0; i < n; ++i) {
        sum += in[i];
        wrong += out[i] != sum;
    }
    printf("%d of %d elements are wrong\n", wrong, n);

    CHECK(cudaFree(d_in));
    CHECK(cudaFree(d_out));
    return wrong != 0;
}
