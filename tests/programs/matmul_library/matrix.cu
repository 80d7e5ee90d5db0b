#include "matrix.hpp"

#include <cmath>

Matrix::Matrix(int n, double value) : n_(n), data_(std::size_t(n) * n, value)
{
}

Matrix Matrix::identity(int n)
{
    Matrix m(n);
    for (int i = 0; i < n; ++i)
        m(i, i) = 1;
    return m;
}

Matrix Matrix::pattern(int n, int step, int modulus)
{
    Matrix m(n);
    for (int r = 0; r < n; ++r)
        for (int c = 0; c < n; ++c)
            m(r, c) = (r * n + c) * step % modulus;
    return m;
}

bool Matrix::operator==(const Matrix& other) const
{
    if (n_ != other.n_)
        return false;
    for (std::size_t i = 0; i < data_.size(); ++i)
        if (std::fabs(data_[i] - other.data_[i]) > 1e-9)
            return false;
    return true;
}

Matrix multiply_cpu(const Matrix& a, const Matrix& b)
{
    const int n = a.size();
    Matrix c(n);
    for (int i = 0; i < n; ++i)
        for (int k = 0; k < n; ++k)
            for (int j = 0; j < n; ++j)
                c(i, j) += a(i, k) * b(k, j);
    return c;
}
