#include <iostream>
#include "matrix_utils.h"
#include "timer.h"

__global__ void matrixMultiply(Matrix a, Matrix b, Matrix c)
{
    int row = blockIdx.y * THREAD_BLOCK + threadIdx.y;
    int col = blockIdx.x * THREAD_BLOCK + threadIdx.x;
    float v = 0;
    for (int k = 0; k < a.width; ++k) v += a.elements[row * a.width + k] * b.elements[k * b.width + col];
    c.elements[row * c.width + col] = v;
}

int main()
{
    Matrix a = allocate(64, 64), b = allocate(64, 64), c = allocate(64, 64);
    Timer timer;
    matrixMultiply<<<dim3(64 / THREAD_BLOCK, 64 / THREAD_BLOCK), dim3(THREAD_BLOCK, THREAD_BLOCK)>>>(a, b, c);
    std::cout << timer.stop() << std::endl;
}
