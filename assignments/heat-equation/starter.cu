// Advances the temperatures of a plate by `steps` steps, in place.  `t` is a pointer to the device's memory.
// Write the kernel and its launches.  Build with:  nvcc -o heat-equation starter.cu
#include <cmath>
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

__global__ void step(const float *from, float *to, int rows, int cols, float rate)
{
}

// The grader calls this function; the rest of the file is yours.
void solve(float *t, int rows, int cols, int steps, float rate)
{
}

int main()
{
    const int rows = 100, cols = 150, steps = 51;
    const float rate = 0.2f;
    const size_t bytes = rows * cols * sizeof(float);
    std::vector<float> t(rows * cols), result(rows * cols);
    for (float &value : t)
        value = rand() % 100;

    float *d_t;
    CHECK(cudaMalloc(&d_t, bytes));
    CHECK(cudaMemcpy(d_t, t.data(), bytes, cudaMemcpyHostToDevice));

    solve(d_t, rows, cols, steps, rate);
    CHECK(cudaGetLastError());

    CHECK(cudaMemcpy(result.data(), d_t, bytes, cudaMemcpyDeviceToHost));
    for (int s = 0; s < steps; ++s) {
        std::vector<float> before = t;
        for (int r = 1; r < rows - 1; ++r) {
            for (int c = 1; c < cols - 1; ++c) {
                const float *at = &before[r * cols + c];
                t[r * cols + c] = at[0] + rate * (at[-cols] + at[cols] + at[-1] + at[1] - 4 * at[0]);
            }
        }
    }
    int wrong = 0;
    for (int i = 0; i < rows * cols; ++i)
        wrong += !(std::fabs(result[i] - t[i]) < 1e-3f);
    printf("%d of %d elements are wrong\n", wrong, rows * cols);

    CHECK(cudaFree(d_t));
    return wrong != 0;
}
