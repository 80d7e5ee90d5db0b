@{whole}@

constexpr auto walked = [](int n) {
    unsigned sum = 0;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j)
            sum += i ^ j;
    return sum;
};
@{lines(300, "__device__ int counts_{n}[1 + walked(500 + {n}) % 3];")}@
