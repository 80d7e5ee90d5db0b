@{whole}@

template <int... N>
struct List {};
template <int N, int... Rest>
struct Upto : Upto<N - 1, N, Rest...> {};
template <int... Rest>
struct Upto<0, Rest...> {
    using type = List<Rest...>;
};
@{lines(300, "using Listed_{n} = Upto<190, {n}>::type;")}@
template <int... N>
__global__ void listed(List<N...>, int *out) { *out = (N + ... + 0); }
template __global__ void listed<@{joined(3000, "{n}")}@>(List<@{joined(3000, "{n}")}@>, int *);
