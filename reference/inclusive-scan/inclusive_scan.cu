// One pass with a look back: each tile is read once and written once.  A tile tells its own sum as soon as it knows it, and
// what is up to its end once it knows that; whoever follows adds up the sums before it until it meets the latter.
#define THREADS 128
#define ITEMS 8
#define TILE (THREADS * ITEMS)

struct Progress {
    unsigned next_tile;
    unsigned state[1]; // for each tile: 0 nothing yet, 1 its own sum is there, 2 all up to its end
};

__device__ float scan_of_warp(float value) {
    for (int d = 1; d < 32; d *= 2) {
        const float before = __shfl_up_sync(0xffffffff, value, d);
        if (threadIdx.x % 32 >= d) value += before;
    }
    return value;
}

__global__ void scan(const float *in, float *out, int n, Progress *progress, volatile float *own, volatile float *all) {
    __shared__ float staged[TILE + TILE / 32];
    __shared__ float of_warp[THREADS / 32];
    __shared__ float before_tile;
    __shared__ unsigned tile;
    volatile unsigned *state = progress->state;

    // Tiles are numbered by when they begin, so that those before are at work or done.
    if (threadIdx.x == 0) tile = atomicAdd(&progress->next_tile, 1u);
    __syncthreads();
    const int first = tile * TILE;

    // Read side by side, then kept eight neighbours a thread; a word is left out after every 32.
    for (int i = threadIdx.x; i < TILE; i += THREADS) staged[i + i / 32] = first + i < n ? in[first + i] : 0.0f;
    __syncthreads();
    float items[ITEMS];
    float sum = 0.0f;
    for (int k = 0; k < ITEMS; ++k) {
        const int i = threadIdx.x * ITEMS + k;
        sum += staged[i + i / 32];
        items[k] = sum;
    }

    const float up_to = scan_of_warp(sum);
    if (threadIdx.x % 32 == 31) of_warp[threadIdx.x / 32] = up_to;
    __syncthreads();
    float before = up_to - sum, total = 0.0f;
    for (int w = 0; w < THREADS / 32; ++w) {
        if (w < threadIdx.x / 32) before += of_warp[w];
        total += of_warp[w];
    }

    if (threadIdx.x == 0) {
        float sums = 0.0f;
        if (tile > 0) {
            own[tile] = total;
            __threadfence();
            atomicExch(&progress->state[tile], 1u);
            for (int t = tile - 1; t >= 0; --t) {
                unsigned seen;
                while ((seen = state[t]) == 0) {
                }
                __threadfence();
                if (seen == 2) {
                    sums += all[t];
                    break;
                }
                sums += own[t];
            }
        }
        all[tile] = sums + total;
        __threadfence();
        atomicExch(&progress->state[tile], 2u);
        before_tile = sums;
    }
    __syncthreads();

    for (int k = 0; k < ITEMS; ++k) {
        const int i = threadIdx.x * ITEMS + k;
        staged[i + i / 32] = before_tile + before + items[k];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < TILE; i += THREADS) {
        if (first + i < n) out[first + i] = staged[i + i / 32];
    }
}

void solve(const float *in, float *out, int n) {
    const int tiles = (n + TILE - 1) / TILE;
    Progress *progress;
    float *own, *all;
    cudaMalloc(&progress, sizeof(Progress) + tiles * sizeof(unsigned));
    cudaMalloc(&own, tiles * sizeof(float));
    cudaMalloc(&all, tiles * sizeof(float));
    cudaMemset(progress, 0, sizeof(Progress) + tiles * sizeof(unsigned));
    scan<<<tiles, THREADS>>>(in, out, n, progress, own, all);
    cudaFree(progress);
    cudaFree(own);
    cudaFree(all);
}
