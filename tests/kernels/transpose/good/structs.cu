// Matrices are structs, handed to the kernel by value.
#include <iostream>
struct Matrix { int width; int height; float *elements; };
__global__ void transposeKernel(Matrix A, Matrix At)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (col < A.width && row < A.height) At.elements[col * At.width + row] = A.elements[row * A.width + col];
}
int main()
{
    Matrix A = {512, 256, nullptr}, At = {256, 512, nullptr};
    cudaMalloc(&A.elements, 512 * 256 * 4); cudaMalloc(&At.elements, 512 * 256 * 4);
    dim3 b(16, 16), g((512 + 15) / 16, (256 + 15) / 16);
    transposeKernel<<<g, b>>>(A, At);
}
