#ifndef MATRIX_H
#define MATRIX_H
typedef struct {
    int width;
    int height;
    float *elements;
} Matrix;
#define BLOCK_SIZE 16
__global__ void MatMulKernel(const Matrix A, const Matrix B, Matrix C);
void MatMul(const Matrix A, const Matrix B, Matrix C);
#endif
