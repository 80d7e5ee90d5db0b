// For every point c of a piece of the plane: after how many steps z = z² + c, from z = 0 on, |z| is above 2.
// Write the kernel and its launch.  Build with:  nvcc -o mandelbrot starter.cu
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

__global__ void mandelbrot(int *counts, int width, int height, float x0, float y0, float dx, float dy, int limit)
{
}

// The grader calls this function; the rest of the file is yours.  `counts` is a pointer to the device's memory.
void solve(int *counts, int width, int height, float x0, float y0, float x1, float y1, int limit)
{
}

int main()
{
    const int width = 120, height = 80, limit = 200;
    std::vector<int> counts(width * height);
    int *d_counts;
    CHECK(cudaMalloc(&d_counts, counts.size() * sizeof(int)));

    solve(d_counts, width, height, -2, -1.125f, 0.75f, 1.125f, limit);
    CHECK(cudaGetLastError());

    CHECK(cudaMemcpy(counts.data(), d_counts, counts.size() * sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(d_counts));

    // A look at it: the denser, the more steps.
    for (int row = 0; row < height; row += 2) {
        for (int col = 0; col < width; ++col) {
            int count = counts[row * width + col];
            putchar(count >= limit ? '#' : count > 10 ? '+' : count > 4 ? '.' : ' ');
        }
        putchar('\n');
    }
}
