@{whole}@

constexpr unsigned walked(int n)
{
    unsigned sum = 0;
    for (int i = 0; i < n; ++i)
        sum += i ^ n;
    return sum;
}
@{lines(300, "constexpr unsigned walked_{n} = walked(300000 + {n});")}@
__device__ unsigned all_walked[] = {@{joined(300, "walked_{n}")}@};
