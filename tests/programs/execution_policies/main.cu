#include <algorithm>
#include <cstdio>
#include <execution>
#include <numeric>
#include <vector>

int main() {
    std::vector<int> values(1000), squares(1000);
    std::iota(values.begin(), values.end(), -500);
    std::for_each(std::execution::par, values.begin(), values.end(), [](int &x) { x = x * 7 % 1000; });
    std::transform(std::execution::par_unseq, values.begin(), values.end(), squares.begin(), [](int x) { return x * x; });
    std::sort(std::execution::par, values.begin(), values.end(), std::greater<>());
    auto policy = std::execution::seq;
    long long sum = std::reduce(policy, squares.begin(), squares.end(), 0LL);
    int most = *std::max_element(std::execution::unseq, squares.begin(), squares.end());
    auto odd = std::count_if(std::execution::par, squares.begin(), squares.end(), [](int x) { return x % 2; });
    std::inclusive_scan(std::execution::par, values.begin(), values.end(), squares.begin());
    double mean = std::transform_reduce(std::execution::par, values.begin(), values.end(), squares.begin(), 0.0) / 1000;
    printf("%d %d %lld %d %d %d %g\n", values.front(), values.back(), sum, most, (int)odd, squares.back(), mean);
}
