#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

#include "flips.cuh"

int main()
{
    const int rows = 96, cols = 64;
    std::vector<float> given(rows * cols), got(rows * cols);
    for (int i = 0; i < rows * cols; i++) given[i] = 0.5f * i;
    float *from, *to;
    VERIFY(cudaMalloc(&from, given.size() * sizeof(float)));
    VERIFY(cudaMalloc(&to, got.size() * sizeof(float)));
    VERIFY(cudaMemcpy(from, given.data(), given.size() * sizeof(float), cudaMemcpyHostToDevice));
    flip(from, to, rows, cols);
    VERIFY(cudaMemcpy(got.data(), to, got.size() * sizeof(float), cudaMemcpyDeviceToHost));
    int wrong = 0;
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < cols; c++) wrong += got[c * rows + r] != given[r * cols + c];
    std::printf("%d wrong\n", wrong);
    cudaFree(from);
    cudaFree(to);
    return wrong != 0;
}
