#include "matrix.hpp"

#include <iostream>
#include <string>

static bool check(const std::string& what, const Matrix& got, const Matrix& expected)
{
    const bool same = got == expected;
    std::cout << what << ": " << (same ? "верно" : "неверно") << '\n';
    return same;
}

int main()
{
    bool all = true;
    for (int n : {16, 21, 40})
    {
        const Matrix a = Matrix::pattern(n, 7, 23), b = Matrix::pattern(n, 5, 19);
        const Matrix expected = multiply_cpu(a, b);
        const std::string size = "n = " + std::to_string(n);
        all &= check(size + ", простой", multiply_gpu(a, b, Algorithm::simple), expected);
        all &= check(size + ", блочный", multiply_gpu(a, b, Algorithm::tiled), expected);
    }
    const Matrix c = Matrix::pattern(12, 3, 11);
    all &= check("единичная слева", multiply_gpu(Matrix::identity(12), c, Algorithm::tiled), c);
    return all ? 0 : 1;
}
