#ifndef MATRIX_H
#define MATRIX_H
#define BLOCK_SIZE 16
// Macierze przechowywane wierszami: M(row, col) = *(M.elements + row * M.stride + col)
typedef struct {
    int width;
    int height;
    int stride;
    float* elements;
} Matrix;
#endif
