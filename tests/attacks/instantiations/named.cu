@{whole}@

template <int N, int M>
struct F {
    static constexpr int value = F<N - 1, 2 * M>::value + F<N - 1, 2 * M + 1>::value;
};
template <int M>
struct F<0, M> {
    static constexpr int value = 1;
};
__device__ int instances = F<30, 1>::value;
