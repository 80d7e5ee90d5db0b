// Sorts n numbers in place, the smallest first.  `data` is a pointer to the device's memory.
// Write the kernels and their launches.  Build with:  nvcc -o bitonic-sort starter.cu
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

// Compares elements `distance` apart, within runs of `size` elements.
__global__ void step(int *data, int size, int distance)
{
}

// The grader calls this function; the rest of the file is yours.
void solve(int *data, int n)
{
}

int main()
{
    const int n = 10000;
    std::vector<int> data(n), sorted(n);
    for (int i = 0; i < n; ++i)
        data[i] = rand() - RAND_MAX / 2;

    int *d_data;
    CHECK(cudaMalloc(&d_data, n * sizeof(int)));
    CHECK(cudaMemcpy(d_data, data.data(), n * sizeof(int), cudaMemcpyHostToDevice));

    solve(d_data, n);
    CHECK(cudaGetLastError());

    CHECK(cudaMemcpy(sorted.data(), d_data, n * sizeof(int), cudaMemcpyDeviceToHost));
    std::sort(data.begin(), data.end());
    int wrong = 0;
    for (int i = 0; i < n; ++i)
        wrong += sorted[i] != data[i];
    printf("%d of %d elements are wrong\n", wrong, n);

    CHECK(cudaFree(d_data));
    return wrong != 0;
}
