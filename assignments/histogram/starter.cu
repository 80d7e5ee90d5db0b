// bins[v] = how often v occurs among n bytes.  `data` and `bins` are pointers to the device's memory; `bins` begins at 0.
// Write the kernel and its launch.  Build with:  nvcc -o histogram starter.cu
#include <cstdio>
#include <cstdlib>
#include <vector>

#define BINS 256

#define CHECK(call)                                                                    \
    do {                                                                               \
        cudaError_t status = (call);                                                   \
        if (status != cudaSuccess) {                                                   \
            fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(status));    \
            exit(1);                                                                   \
        }                                                                              \
    } while (0)

__global__ void histogram(const unsigned char *data, unsigned int *bins, int n)
{
}

// The grader calls this function; the rest of the file is yours.
void solve(const unsigned char *data, unsigned int *bins, int n)
{
}

int main()
{
    const int n = 100000;
    std::vector<unsigned char> data(n);
    std::vector<unsigned int> expected(BINS, 0), bins(BINS);
    for (int i = 0; i < n; ++i) {
        data[i] = rand() % BINS;
        ++expected[data[i]];
    }

    unsigned char *d_data;
    unsigned int *d_bins;
    CHECK(cudaMalloc(&d_data, n));
    CHECK(cudaMalloc(&d_bins, BINS * sizeof(unsigned int)));
    CHECK(cudaMemcpy(d_data, data.data(), n, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(d_bins, 0, BINS * sizeof(unsigned int)));

    solve(d_data, d_bins, n);
    CHECK(cudaGetLastError());

    CHECK(cudaMemcpy(bins.data(), d_bins, BINS * sizeof(unsigned int), cudaMemcpyDeviceToHost));
    int wrong = 0;
    for (int v = 0; v < BINS; ++v)
        wrong += bins[v] != expected[v];
    printf("%d of %d bins are wrong\n", wrong, BINS);

    CHECK(cudaFree(d_data));
    CHECK(cudaFree(d_bins));
    return wrong != 0;
}
