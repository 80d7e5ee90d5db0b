@{whole}@

constexpr unsigned spread(int n) { return n < 2 ? n : spread(n - 1) + spread(n - 2); }
@{lines(300, "static_assert(spread(22 + {n} % 3) > 0);")}@
