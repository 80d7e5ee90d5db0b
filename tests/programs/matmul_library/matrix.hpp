#pragma once
#include <cstddef>
#include <vector>

enum class Algorithm { simple, tiled };

// Квадратная матрица чисел типа double в памяти хоста.
class Matrix {
public:
    explicit Matrix(int n, double value = 0);
    static Matrix identity(int n);
    static Matrix pattern(int n, int step, int modulus);
    int size() const { return n_; }
    double& operator()(int row, int col) { return data_[std::size_t(row) * n_ + col]; }
    double operator()(int row, int col) const { return data_[std::size_t(row) * n_ + col]; }
    const double* data() const { return data_.data(); }
    double* data() { return data_.data(); }
    bool operator==(const Matrix& other) const;
    bool operator!=(const Matrix& other) const { return !(*this == other); }

private:
    int n_;
    std::vector<double> data_;
};

Matrix multiply_cpu(const Matrix& a, const Matrix& b);
Matrix multiply_gpu(const Matrix& a, const Matrix& b, Algorithm algorithm);
