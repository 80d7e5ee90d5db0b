// Arithmetic in constant expressions: g++, which nvcc hands host code to, works out functions of the library there, clang
// does not. Each overload is chosen only where the argument is a constant, and is exact or rounded correctly.
#pragma once

namespace grader_constant {
constexpr double whole_limit = 4503599627370496.0; // 2^52: what is larger is whole
constexpr double trunc(double x) { return x > -whole_limit && x < whole_limit ? (double)(long long)x : x; }
constexpr double floor(double x) { return trunc(x) > x ? trunc(x) - 1 : trunc(x); }
constexpr double ceil(double x) { return trunc(x) < x ? trunc(x) + 1 : trunc(x); }
constexpr double round(double x) {
    double part = x - trunc(x);
    return part >= 0.5 ? trunc(x) + 1 : part <= -0.5 ? trunc(x) - 1 : trunc(x);
}
constexpr bool is_positive(double x) { return x > 0 && x < __builtin_inf(); }
constexpr double sqrt(double x) {
    // Scaled to [1, 4) by powers of four, which changes no digit.
    long double rest = x, scale = 1;
    while (rest >= 4) { rest /= 4; scale *= 2; }
    while (rest < 1) { rest *= 4; scale /= 2; }
    long double root = rest / 2 + 0.5L;
    for (int step = 0; step < 8; step++) { root = (root + rest / root) / 2; }
    return (double)(root * scale);
}
constexpr int exponent(double x) {
    int power = 0;
    while (x >= 2) { x /= 2; power++; }
    while (x < 1) { x *= 2; power--; }
    return power;
}
constexpr long double to_the(long double x, int n) {
    long double result = 1;
    for (int left = n < 0 ? -n : n; left > 0; left >>= 1, x *= x) { result = left & 1 ? result * x : result; }
    return n < 0 ? 1 / result : result;
}
constexpr bool is_power_of_two(double x) { return is_positive(x) && (double)to_the(2, exponent(x)) == x; }
constexpr double log2(double x) { return exponent(x); }
constexpr bool is_short_power(double, double y) { return trunc(y) == y && y >= -64 && y <= 64; }
constexpr double pow(double x, double y) { return (double)to_the(x, (int)y); }
} // namespace grader_constant

#define GRADER_CONSTANT_AS(T, R, name, function, condition) \
    __host__ constexpr R name(T x) __attribute__((enable_if(__builtin_constant_p(x) && (condition), ""))) { return (R)grader_constant::function((double)x); }
#define GRADER_CONSTANT_OF(T, R, name, condition) GRADER_CONSTANT_AS(T, R, name, name, condition)
#define GRADER_CONSTANT_FUNCTION(name, condition) \
    GRADER_CONSTANT_OF(double, double, name, condition) GRADER_CONSTANT_OF(float, float, name, condition) \
    GRADER_CONSTANT_OF(int, double, name, condition) GRADER_CONSTANT_OF(unsigned, double, name, condition) \
    GRADER_CONSTANT_OF(long, double, name, condition) GRADER_CONSTANT_OF(unsigned long, double, name, condition) \
    GRADER_CONSTANT_OF(long long, double, name, condition) GRADER_CONSTANT_OF(unsigned long long, double, name, condition) \
    GRADER_CONSTANT_AS(float, float, name##f, name, condition) \
    namespace std { using ::name; using ::name##f; }
GRADER_CONSTANT_FUNCTION(trunc, true)
GRADER_CONSTANT_FUNCTION(floor, true)
GRADER_CONSTANT_FUNCTION(ceil, true)
GRADER_CONSTANT_FUNCTION(round, true)
GRADER_CONSTANT_FUNCTION(sqrt, grader_constant::is_positive((double)x))
GRADER_CONSTANT_FUNCTION(log2, grader_constant::is_power_of_two((double)x))
#define GRADER_CONSTANT_POWER(T, U, R) \
    __host__ constexpr R pow(T x, U y) __attribute__((enable_if(__builtin_constant_p(x) && __builtin_constant_p(y) && grader_constant::is_short_power((double)x, (double)y), ""))) { return (R)grader_constant::pow((double)x, (double)y); }
GRADER_CONSTANT_POWER(double, double, double)
GRADER_CONSTANT_POWER(double, int, double)
GRADER_CONSTANT_POWER(float, float, float)
GRADER_CONSTANT_POWER(float, int, double)
GRADER_CONSTANT_POWER(int, int, double)
GRADER_CONSTANT_POWER(int, double, double)
namespace std { using ::pow; }
