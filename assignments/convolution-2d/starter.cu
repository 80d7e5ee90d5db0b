// out[r][c] = sum of mask[i][j] * in[r + i - 2][c + j - 2] over i, j = 0 … 4; elements beyond the edges count as 0.
// All pointers are of the host.  Write the kernel, the copies and the launch.  Build with:  nvcc -o convolution-2d starter.cu
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

__constant__ float weights[25];

__global__ void convolve(const float *in, float *out, int rows, int cols)
{
}

// The grader calls this function; the rest of the file is yours.
void solve(const float *in, const float *mask, float *out, int rows, int cols)
{
}

int main()
{
    const int rows = 300, cols = 500;
    std::vector<float> in(rows * cols), mask(25), out(rows * cols);
    for (int i = 0; i < rows * cols; ++i)
        in[i] = rand() % 256;
    for (int i = 0; i < 25; ++i)
        mask[i] = i - 10;

    solve(in.data(), mask.data(), out.data(), rows, cols);
    CHECK(cudaGetLastError());

    int wrong = 0;
    for (int r = 0; r < rows; ++r) {
        for (int c = 0; c < cols; ++c) {
            float sum = 0;
            for (int i = 0; i < 5; ++i) {
                for (int j = 0; j < 5; ++j) {
                    int y = r + i - 2, x = c + j - 2;
                    if (y >= 0 && y < rows && x >= 0 && x < cols)
                        sum += mask[i * 5 + j] * in[y * cols + x];
                }
            }
            wrong += out[r * cols + c] != sum;
        }
    }
    printf("%d of %d elements are wrong\n", wrong, rows * cols);
    return wrong != 0;
}
