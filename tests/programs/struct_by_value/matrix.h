#pragma once
struct Matrix {
    float* elements;
    int width, height;
    __device__ float& at(int row, int column) { return elements[row * width + column]; }
};
