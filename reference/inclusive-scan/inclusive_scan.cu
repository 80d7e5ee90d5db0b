// One pass with a look back: each tile is read once and written once.  A tile tells its own sum as soon as it knows it, and
// what is up to its end once it knows that; a warp of whoever follows looks at 32 tiles at a time, the nearest first, and
// adds up their sums as far back as to one of the latter.
#define THREADS 128
#define ITEMS 16
#define TILE (THREADS * ITEMS)

typedef unsigned long long Word;

enum { NOTHING, OWN, ALL }; // what a tile has told: its own sum, or that of all elements up to its end

// A sum and what it is of, in one word: who sees the one sees the other.
__device__ Word packed(unsigned of, float sum) { return (Word)of << 32 | __float_as_uint(sum); }

__device__ float scan_of_warp(float value) {
    for (int d = 1; d < 32; d *= 2) {
        const float before = __shfl_up_sync(0xffffffff, value, d);
        if (threadIdx.x % 32 >= d) value += before;
    }
    return value;
}

__device__ float sum_of_warp(float value) {
    for (int d = 16; d > 0; d /= 2) value += __shfl_xor_sync(0xffffffff, value, d);
    return value;
}

// The sum of all tiles before one; for the first warp.
__device__ float sum_before(int tile, const volatile Word *told) {
    float sum = 0.0f;
    for (int nearest = tile - 1; nearest >= 0; nearest -= 32) {
        const int t = nearest - (int)threadIdx.x;
        Word word;
        do {
            word = t >= 0 ? told[t] : packed(ALL, 0.0f);
        } while (__any_sync(0xffffffff, word >> 32 == NOTHING));
        const unsigned all = __ballot_sync(0xffffffff, word >> 32 == ALL);
        const int last = all ? __ffs(all) - 1 : 31;
        sum += sum_of_warp((int)threadIdx.x <= last ? __uint_as_float((unsigned)word) : 0.0f);
        if (all) break;
    }
    return sum;
}

__global__ void scan(const float *in, float *out, int n, unsigned *next_tile, Word *told) {
    __shared__ float staged[TILE + TILE / 32];
    __shared__ float of_warp[THREADS / 32];
    __shared__ float before_tile;
    __shared__ unsigned tile;

    // Tiles are numbered by when they begin, so that those before are at work or done.
    if (threadIdx.x == 0) tile = atomicAdd(next_tile, 1u);
    __syncthreads();
    const int first = tile * TILE;

    // Read side by side, then kept sixteen neighbours a thread; a word is left out after every 32.
    for (int i = threadIdx.x; i < TILE; i += THREADS) staged[i + i / 32] = first + i < n ? in[first + i] : 0.0f;
    __syncthreads();
    float items[ITEMS];
    float sum = 0.0f;
#pragma unroll
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

    if (threadIdx.x < 32) {
        if (threadIdx.x == 0 && tile > 0) atomicExch(&told[tile], packed(OWN, total));
        const float sums = sum_before(tile, told);
        if (threadIdx.x == 0) {
            atomicExch(&told[tile], packed(ALL, sums + total));
            before_tile = sums;
        }
    }
    __syncthreads();

#pragma unroll
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
    Word *told;
    cudaMalloc(&told, (tiles + 1) * sizeof(Word));
    cudaMemset(told, 0, (tiles + 1) * sizeof(Word));
    scan<<<tiles, THREADS>>>(in, out, n, (unsigned *)(told + tiles), told);
    cudaFree(told);
}
