#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <cstdio>
using namespace nvcuda;

template <int M, int N, int K, class T, class Sum, class A, class B>
__global__ void product(const typename wmma::fragment<wmma::matrix_a, M, N, K, T, A>::storage_element_type *a,
                        const typename wmma::fragment<wmma::matrix_a, M, N, K, T, A>::storage_element_type *b, Sum *c,
                        wmma::layout_t layout)
{
    wmma::fragment<wmma::matrix_a, M, N, K, T, A> fa;
    wmma::fragment<wmma::matrix_b, M, N, K, T, B> fb;
    wmma::fragment<wmma::accumulator, M, N, K, Sum> fc;
    wmma::fill_fragment(fc, (Sum)1.0f);
    wmma::load_matrix_sync(fa, a, std::is_same<A, wmma::row_major>::value ? K : M);
    wmma::load_matrix_sync(fb, b, std::is_same<B, wmma::row_major>::value ? N : K);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(c, fc, layout == wmma::mem_row_major ? N : M, layout);
}

// One plus twice the product, in whole numbers that every type holds.
template <int M, int N, int K, class T, class Sum, class A, class B> void check(const char *name, wmma::layout_t layout)
{
    using Stored = typename wmma::fragment<wmma::matrix_a, M, N, K, T, A>::storage_element_type;
    thrust::host_vector<Stored> a(M * K), b(K * N);
    auto left = [](int row, int k) { return (row * 3 + k * 5) % 4; };
    auto right = [](int k, int column) { return (k * 7 + column * 3) % 5; };
    for (int row = 0; row < M; ++row)
        for (int k = 0; k < K; ++k) a[std::is_same<A, wmma::row_major>::value ? row * K + k : k * M + row] = (Stored)(float)left(row, k);
    for (int k = 0; k < K; ++k)
        for (int column = 0; column < N; ++column)
            b[std::is_same<B, wmma::row_major>::value ? k * N + column : column * K + k] = (Stored)(float)right(k, column);
    thrust::device_vector<Stored> da = a, db = b;
    thrust::device_vector<Sum> dc(M * N);
    product<M, N, K, T, Sum, A, B><<<1, 32>>>(thrust::raw_pointer_cast(da.data()), thrust::raw_pointer_cast(db.data()),
                                             thrust::raw_pointer_cast(dc.data()), layout);
    thrust::host_vector<Sum> c = dc;
    int wrong = 0;
    for (int row = 0; row < M; ++row)
        for (int column = 0; column < N; ++column) {
            int sum = 1;
            for (int k = 0; k < K; ++k) sum += 2 * left(row, k) * right(k, column);
            wrong += (float)c[layout == wmma::mem_row_major ? row * N + column : column * M + row] != (float)sum;
        }
    printf("%s %d wrong\n", name, wrong);
}

int main()
{
    using Rows = wmma::row_major;
    using Columns = wmma::col_major;
    check<16, 16, 16, half, float, Rows, Rows>("half", wmma::mem_row_major);
    check<16, 16, 16, half, half, Rows, Columns>("half in half", wmma::mem_col_major);
    check<32, 8, 16, half, float, Columns, Rows>("half 32 x 8", wmma::mem_row_major);
    check<8, 32, 16, half, float, Columns, Columns>("half 8 x 32", wmma::mem_col_major);
#ifdef AMPERE
    check<16, 16, 16, __nv_bfloat16, float, Rows, Columns>("bfloat16", wmma::mem_row_major);
    check<32, 8, 16, __nv_bfloat16, float, Rows, Rows>("bfloat16 32 x 8", wmma::mem_row_major);
    check<16, 16, 8, wmma::precision::tf32, float, Rows, Rows>("tf32", wmma::mem_row_major);
#endif
    check<16, 16, 16, signed char, int, Rows, Columns>("signed char", wmma::mem_row_major);
    check<8, 32, 16, unsigned char, int, Columns, Rows>("unsigned char 8 x 32", wmma::mem_col_major);
}
