// A network whose comparisons all put the smaller element first, so that it works for every n: what is missing behind the
// end counts as larger than anything, and stays there.  Distances below a tile are in shared memory.
#define THREADS 1024
#define TILE (2 * THREADS)

__device__ void order(int *values, int low, int high, int count) {
    if (high < count && values[low] > values[high]) {
        const int larger = values[low];
        values[low] = values[high];
        values[high] = larger;
    }
}

// The first step of a merge of two sorted runs, `run` elements together: the second run is taken from its end.
__device__ void flip(int *values, int pair, int run, int count) {
    const int k = pair & (run / 2 - 1), begin = 2 * (pair - k);
    order(values, begin + k, begin + run - 1 - k, count);
}

__device__ void halve(int *values, int pair, int distance, int count) {
    const int low = 2 * pair - (pair & (distance - 1));
    order(values, low, low + distance, count);
}

// All steps of a tile from runs of `from` elements to runs of `to`, the first of which is a flip; from > to: halvings only.
__global__ void in_tiles(int *data, int n, int from, int to) {
    __shared__ int tile[TILE];
    const int begin = blockIdx.x * TILE, count = min(TILE, n - begin);
    for (int i = threadIdx.x; i < count; i += THREADS) tile[i] = data[begin + i];
    __syncthreads();
    for (int run = from; run <= to; run *= 2) {
        flip(tile, threadIdx.x, run, count);
        __syncthreads();
        for (int distance = run / 4; distance > 0; distance /= 2) {
            halve(tile, threadIdx.x, distance, count);
            __syncthreads();
        }
    }
    if (from > to) {
        for (int distance = TILE / 2; distance > 0; distance /= 2) {
            halve(tile, threadIdx.x, distance, count);
            __syncthreads();
        }
    }
    for (int i = threadIdx.x; i < count; i += THREADS) data[begin + i] = tile[i];
}

__global__ void flip_all(int *data, int n, int run) {
    flip(data, blockIdx.x * THREADS + threadIdx.x, run, n);
}

__global__ void halve_all(int *data, int n, int distance) {
    halve(data, blockIdx.x * THREADS + threadIdx.x, distance, n);
}

void solve(int *data, int n) {
    const int tiles = (n + TILE - 1) / TILE;
    in_tiles<<<tiles, THREADS>>>(data, n, 2, TILE);
    for (int run = 2 * TILE; run / 2 < n; run *= 2) {
        const int pairs = (n + run - 1) / run * (run / 2);
        flip_all<<<pairs / THREADS, THREADS>>>(data, n, run);
        for (int distance = run / 4; distance >= TILE; distance /= 2) halve_all<<<tiles, THREADS>>>(data, n, distance);
        in_tiles<<<tiles, THREADS>>>(data, n, 2, 1);
    }
}
