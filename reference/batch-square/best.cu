// Near what the memory can do: a warp is a block.  It copies its 32 matrices to shared memory 16 bytes a lane, each
// lane squares one of them in registers and puts the square in its place, and the warp writes all of them out.
#define MATRICES 32

// Where 16 bytes of matrix `m` lie.  Matrices of an even n are whole quads; where eight neighbouring lanes would ask
// for the same banks, the quads of a matrix change places.
template <int N> __device__ __forceinline__ int quad_of(int m, int quad)
{
    constexpr int QUADS = N * N / 4;
    if constexpr (QUADS % 8 == 0)
        return m * QUADS + (quad ^ (m & 7));
    else if constexpr (QUADS % 4 == 0)
        return m * QUADS + (quad ^ (m >> 1 & 3));
    else
        return m * QUADS + quad; // an odd distance
}

// The i-th 16 bytes of all matrices together.
template <int N> __device__ __forceinline__ int place(int i)
{
    if constexpr (N % 2 == 0)
        return quad_of<N>(i / (N * N / 4), i % (N * N / 4));
    else
        return i;
}

template <int N> __device__ __forceinline__ float element(const float (&a)[N * N], int i, int j)
{
    float sum = a[i * N] * a[j];
#pragma unroll
    for (int k = 1; k < N; ++k)
        sum += a[i * N + k] * a[k * N + j];
    return sum;
}

// Any count.  Shared memory: MATRICES · N · N floats.
template <int N>
__global__ void __launch_bounds__(MATRICES)
    square_best(const float *__restrict__ in, float *__restrict__ out, int count)
{
    extern __shared__ float4 quads[];
    float *flat = (float *)quads;
    constexpr int SIZE = N * N;

    const size_t first = (size_t)blockIdx.x * MATRICES;
    const int floats = min(MATRICES, (int)(count - first)) * SIZE;
    const float *from = in + first * SIZE;
    float *to = out + first * SIZE;

#pragma unroll 4
    for (int i = threadIdx.x; i < floats / 4; i += MATRICES) {
        const unsigned at = (unsigned)__cvta_generic_to_shared(quads + place<N>(i));
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from + 4 * i) : "memory");
    }
    if (floats % 4)
        for (int i = floats / 4 * 4 + threadIdx.x; i < floats; i += MATRICES)
            flat[i] = from[i];
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();

    const int m = threadIdx.x;
    if (m * SIZE < floats) {
        float a[SIZE];
        if constexpr (N % 2 == 0) {
#pragma unroll
            for (int q = 0; q < SIZE / 4; ++q)
                *(float4 *)&a[4 * q] = quads[quad_of<N>(m, q)];
#pragma unroll
            for (int i = 0; i < N; i += 2) { // two rows are whole quads
                float rows[2 * N];
#pragma unroll
                for (int e = 0; e < 2 * N; ++e)
                    rows[e] = element<N>(a, i + e / N, e % N);
#pragma unroll
                for (int q = 0; q < N / 2; ++q)
                    quads[quad_of<N>(m, i * N / 4 + q)] = *(float4 *)&rows[4 * q];
            }
        } else {
#pragma unroll
            for (int e = 0; e < SIZE; ++e)
                a[e] = flat[m * SIZE + e];
#pragma unroll
            for (int e = 0; e < SIZE; ++e)
                flat[m * SIZE + e] = element<N>(a, e / N, e % N);
        }
    }
    __syncthreads();

#pragma unroll 4
    for (int i = threadIdx.x; i < floats / 4; i += MATRICES)
        ((float4 *)to)[i] = quads[place<N>(i)];
    if (floats % 4)
        for (int i = floats / 4 * 4 + threadIdx.x; i < floats; i += MATRICES)
            to[i] = flat[i];
}
