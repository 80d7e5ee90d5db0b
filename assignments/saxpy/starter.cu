// y = a * x + y for n numbers.  `x` and `y` are pointers to the device's memory.
// Write the kernel and its launch.  Build with:  nvcc -o saxpy starter.cu
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

__global__ void saxpy(float a, const float *x, float *y, int n)
{
}

// The grader calls this function; the rest of the file is yours.
void solve(float a, const float *x, float *y, int n)
{
}

int main()
{
    const int n = 100000;
    const size_t bytes = n * sizeof(float);
    std::vector<float> x(n, 1.0f), y(n, 2.0f);

    float *d_x, *d_y;
    CHECK(cudaMalloc(&d_x, bytes));
    CHECK(cudaMalloc(&d_y, bytes));
    CHECK(cudaMemcpy(d_x, x.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_y, y.data(), bytes, cudaMemcpyHostToDevice));

    solve(3.0f, d_x, d_y, n);
    CHECK(cudaGetLastError());

    CHECK(cudaMemcpy(y.data(), d_y, bytes, cudaMemcpyDeviceToHost));
    int wrong = 0;
    for (int i = 0; i < n; ++i)
        wrong += y[i] != 5.0f;
    printf("%d of %d elements are wrong\n", wrong, n);

    CHECK(cudaFree(d_x));
    CHECK(cudaFree(d_y));
    return wrong != 0;
}
