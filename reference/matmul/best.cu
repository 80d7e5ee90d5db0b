// Near what float32 arithmetic without tensor cores can do: a block makes 128×256 elements of C, a thread 8×16 of them
// in registers, so that a number from shared memory is used 8 or 16 times.  While one slice of A and B is multiplied,
// the next one is on its way: B by asynchronous copies, A through registers, because it is stored transposed.
#define BLOCK_M 128 // rows of C of a block
#define BLOCK_N 256 // columns of C of a block
#define BLOCK_K 16  // columns of A and rows of B of a slice
#define WARP_M 32
#define WARP_N 128
#define THREAD_M 8
#define THREAD_N 16

constexpr int THREADS = BLOCK_M * BLOCK_N / (THREAD_M * THREAD_N);
constexpr int PITCH_A = BLOCK_M + 4; // of a column of A's slice: keeps 16-byte alignment, spreads the stores over banks
constexpr int PITCH_B = BLOCK_N;
constexpr int LANES_N = WARP_N / THREAD_N; // lanes of a warp side by side; 32 / LANES_N below each other
constexpr int STEP_M = WARP_M / (THREAD_M / 4); // a thread's rows are groups of 4, this far apart
constexpr int STEP_N = WARP_N / (THREAD_N / 4);
constexpr int QUADS_A = BLOCK_M * BLOCK_K / 4 / THREADS; // float4 that a thread moves for each slice
constexpr int QUADS_B = BLOCK_N * BLOCK_K / 4 / THREADS;
static_assert(WARP_M / THREAD_M * LANES_N == 32, "the threads of a warp cover its part");

// n is a multiple of BLOCK_N.  Shared memory: two slices of A and B.
__global__ void __launch_bounds__(THREADS, 1)
    matmul_best(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, int n)
{
    extern __shared__ float4 slices[];
    float *slice_a = (float *)slices;
    float *slice_b = slice_a + 2 * BLOCK_K * PITCH_A;

    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = warp / (BLOCK_N / WARP_N) * WARP_M + lane / LANES_N * 4; // a thread's first, in the block
    const int col = warp % (BLOCK_N / WARP_N) * WARP_N + lane % LANES_N * 4;
    const float *from_a = a + (size_t)blockIdx.y * BLOCK_M * n;
    const float *from_b = b + (size_t)blockIdx.x * BLOCK_N;

    float4 next_a[QUADS_A];
    auto fetch_a = [&](int k0) {
#pragma unroll
        for (int s = 0; s < QUADS_A; ++s) {
            const int i = threadIdx.x + s * THREADS;
            next_a[s] = __ldg((const float4 *)(from_a + (size_t)(i / (BLOCK_K / 4)) * n + k0) + i % (BLOCK_K / 4));
        }
    };
    auto store_a = [&](int half) {
#pragma unroll
        for (int s = 0; s < QUADS_A; ++s) {
            const int i = threadIdx.x + s * THREADS;
            float *to = slice_a + (half * BLOCK_K + i % (BLOCK_K / 4) * 4) * PITCH_A + i / (BLOCK_K / 4);
            to[0] = next_a[s].x;
            to[PITCH_A] = next_a[s].y;
            to[2 * PITCH_A] = next_a[s].z;
            to[3 * PITCH_A] = next_a[s].w;
        }
    };
    auto copy_b = [&](int k0, int half) {
#pragma unroll
        for (int s = 0; s < QUADS_B; ++s) {
            const int i = threadIdx.x + s * THREADS;
            const int k = i / (BLOCK_N / 4), quad = i % (BLOCK_N / 4);
            const float *from = from_b + (size_t)(k0 + k) * n + 4 * quad;
            const unsigned to =
                (unsigned)__cvta_generic_to_shared(slice_b + (half * BLOCK_K + k) * PITCH_B + 4 * quad);
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
        }
    };
    auto fragments = [&](int half, int k, float (&of_a)[THREAD_M], float (&of_b)[THREAD_N]) {
#pragma unroll
        for (int g = 0; g < THREAD_M / 4; ++g)
            *(float4 *)&of_a[4 * g] = *(const float4 *)(slice_a + (half * BLOCK_K + k) * PITCH_A + row + g * STEP_M);
#pragma unroll
        for (int g = 0; g < THREAD_N / 4; ++g)
            *(float4 *)&of_b[4 * g] = *(const float4 *)(slice_b + (half * BLOCK_K + k) * PITCH_B + col + g * STEP_N);
    };

    fetch_a(0);
    copy_b(0, 0);
    store_a(0);
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();

    float sum[THREAD_M][THREAD_N] = {};
    int half = 0;
    for (int k0 = 0; k0 < n; k0 += BLOCK_K) {
        const bool more = k0 + BLOCK_K < n;
        if (more) {
            fetch_a(k0 + BLOCK_K);
            copy_b(k0 + BLOCK_K, half ^ 1);
        }
        float of_a[2][THREAD_M], of_b[2][THREAD_N];
        fragments(half, 0, of_a[0], of_b[0]);
#pragma unroll
        for (int k = 0; k < BLOCK_K; ++k) {
            if (k + 1 < BLOCK_K) // the next column is loaded while this one is multiplied
                fragments(half, k + 1, of_a[(k + 1) % 2], of_b[(k + 1) % 2]);
#pragma unroll
            for (int i = 0; i < THREAD_M; ++i)
#pragma unroll
                for (int j = 0; j < THREAD_N; ++j)
                    sum[i][j] += of_a[k % 2][i] * of_b[k % 2][j];
        }
        if (more) {
            store_a(half ^ 1);
            asm volatile("cp.async.wait_all;" ::: "memory");
        }
        __syncthreads();
        half ^= 1;
    }

#pragma unroll
    for (int i = 0; i < THREAD_M; ++i) {
        float *to = c + ((size_t)blockIdx.y * BLOCK_M + row + i / 4 * STEP_M + i % 4) * n + (size_t)blockIdx.x * BLOCK_N;
#pragma unroll
        for (int g = 0; g < THREAD_N / 4; ++g)
            *(float4 *)(to + col + g * STEP_N) =
                make_float4(sum[i][4 * g], sum[i][4 * g + 1], sum[i][4 * g + 2], sum[i][4 * g + 3]);
    }
}
