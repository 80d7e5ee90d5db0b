@{whole}@

template <class A, class B>
struct Pair {};
template <int N, class A>
struct Grown {
    using type = typename Grown<N - 1, Pair<A, int>>::type;
};
template <class A>
struct Grown<0, A> {
    using type = A;
};
template <class A>
__global__ void grown(A *) {}
template __global__ void grown<Grown<5000, int>::type>(Grown<5000, int>::type *);
