// For matrices too small to give every multiprocessor a large tile: a block makes 64×64 elements of C, a thread 8×4 of
// them in registers, and two blocks share a multiprocessor.  Slices of A and B come by asynchronous copies, two of them
// on their way while a third is multiplied: with so few warps nothing else hides the latency of memory.
#define BLOCK_M 64 // rows of C of a block
#define BLOCK_N 64 // columns of C of a block
#define BLOCK_K 32 // columns of A and rows of B of a slice
#define WARP_M 32
#define WARP_N 32
#define THREAD_M 8
#define THREAD_N 4
#define STAGES 3 // slices in shared memory

constexpr int THREADS = BLOCK_M * BLOCK_N / (THREAD_M * THREAD_N);
constexpr int PITCH_A = BLOCK_K + 4; // of a row of A's slice: the rows that a warp reads together lie in other banks
constexpr int LANES_N = WARP_N / THREAD_N; // lanes of a warp side by side
constexpr int LANES_M = 32 / LANES_N;      // and below each other: a thread's rows are this far apart
constexpr int QUADS_A = BLOCK_M * BLOCK_K / 4 / THREADS; // copies of 16 bytes that a thread starts for each slice
constexpr int QUADS_B = BLOCK_K * BLOCK_N / 4 / THREADS;
static_assert(LANES_M * THREAD_M == WARP_M, "the threads of a warp cover its part");

__device__ __forceinline__ void copy_quad(float *to, const float *from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from)
                 : "memory");
}

// n is a multiple of BLOCK_M, BLOCK_N and BLOCK_K, and at least two slices long.
__global__ void __launch_bounds__(THREADS, 2)
    matmul_best_small(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, int n)
{
    extern __shared__ float4 slices[];
    float *slices_a = (float *)slices; // [STAGES][BLOCK_M][PITCH_A]
    float *slices_b = slices_a + STAGES * BLOCK_M * PITCH_A; // [STAGES][BLOCK_K][BLOCK_N]

    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = warp / (BLOCK_N / WARP_N) * WARP_M + lane / LANES_N; // a thread's first, in the block
    const int col = warp % (BLOCK_N / WARP_N) * WARP_N + lane % LANES_N * THREAD_N;
    const float *from_a = a + (size_t)blockIdx.y * BLOCK_M * n;
    const float *from_b = b + (size_t)blockIdx.x * BLOCK_N;

    auto copy = [&](int stage, int k0) {
#pragma unroll
        for (int s = 0; s < QUADS_A; ++s) {
            const int i = threadIdx.x + s * THREADS;
            const int r = i / (BLOCK_K / 4), quad = i % (BLOCK_K / 4);
            copy_quad(slices_a + (stage * BLOCK_M + r) * PITCH_A + 4 * quad, from_a + (size_t)r * n + k0 + 4 * quad);
        }
#pragma unroll
        for (int s = 0; s < QUADS_B; ++s) {
            const int i = threadIdx.x + s * THREADS;
            const int r = i / (BLOCK_N / 4), quad = i % (BLOCK_N / 4);
            copy_quad(slices_b + (stage * BLOCK_K + r) * BLOCK_N + 4 * quad, from_b + (size_t)(k0 + r) * n + 4 * quad);
        }
    };

#pragma unroll
    for (int s = 0; s < STAGES - 1; ++s) {
        copy(s, s * BLOCK_K);
        asm volatile("cp.async.commit_group;" ::: "memory");
    }

    float sum[THREAD_M][THREAD_N] = {};
    int stage = 0;
    for (int k0 = 0; k0 < n; k0 += BLOCK_K) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        // Also: everyone is done with the slice before this one, which the next copy overwrites.
        __syncthreads();
        const int ahead = k0 + (STAGES - 1) * BLOCK_K;
        if (ahead < n)
            copy(stage == 0 ? STAGES - 1 : stage - 1, ahead);
        asm volatile("cp.async.commit_group;" ::: "memory"); // an empty one too: wait_group counts them

        const float *of_a = slices_a + (stage * BLOCK_M + row) * PITCH_A;
        const float *of_b = slices_b + stage * BLOCK_K * BLOCK_N + col;
#pragma unroll
        for (int k = 0; k < BLOCK_K; k += 4) {
            float quads_a[THREAD_M][4];
#pragma unroll
            for (int i = 0; i < THREAD_M; ++i)
                *(float4 *)quads_a[i] = *(const float4 *)(of_a + i * LANES_M * PITCH_A + k);
#pragma unroll
            for (int kk = 0; kk < 4; ++kk) {
                float quad_b[THREAD_N];
                *(float4 *)quad_b = *(const float4 *)(of_b + (k + kk) * BLOCK_N);
#pragma unroll
                for (int i = 0; i < THREAD_M; ++i)
#pragma unroll
                    for (int j = 0; j < THREAD_N; ++j)
                        sum[i][j] += quads_a[i][kk] * quad_b[j];
            }
        }
        stage = stage + 1 == STAGES ? 0 : stage + 1;
    }

#pragma unroll
    for (int i = 0; i < THREAD_M; ++i) {
        float *to = c + ((size_t)blockIdx.y * BLOCK_M + row + i * LANES_M) * n + (size_t)blockIdx.x * BLOCK_N;
        *(float4 *)(to + col) = *(float4 *)sum[i];
    }
}
