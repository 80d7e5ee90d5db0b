@{whole}@

constexpr unsigned walked(int n)
{
    unsigned sum = 0;
    for (int i = 0; i < n; ++i)
        sum += i ^ n;
    return sum % 7;
}
#define TEN(x) x(0) x(1) x(2) x(3) x(4) x(5) x(6) x(7) x(8) x(9)
#define ASSERTED(n) static_assert(walked(300000 + n) < 7);
#define HUNDRED(n) TEN(ASSERTED) TEN(ASSERTED) TEN(ASSERTED) TEN(ASSERTED) TEN(ASSERTED)
TEN(HUNDRED)
