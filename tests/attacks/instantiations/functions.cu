@{whole}@

template <int N, int M>
__device__ int made()
{
    if constexpr (N == 0)
        return M;
    else
        return made<N - 1, 2 * M>() + made<N - 1, 2 * M + 1>();
}
__global__ void all_made(int *out) { *out = made<24, 1>(); }
