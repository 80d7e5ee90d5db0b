// Reduce first, then scan: several elements a thread in registers, staged through shared memory; templates.
template <int THREADS, int ITEMS>
struct Tile {
    static constexpr int size = THREADS * ITEMS;
    float data[size];

    __device__ void load(const float *from, int count)
    {
        for (int i = threadIdx.x; i < size; i += THREADS)
            data[i] = i < count ? from[i] : 0.0f;
        __syncthreads();
    }
    __device__ void store(float *to, int count) const
    {
        __syncthreads();
        for (int i = threadIdx.x; i < size; i += THREADS)
            if (i < count)
                to[i] = data[i];
    }
};

template <int THREADS, int ITEMS>
__global__ void sums_of_tiles(const float *in, float *sums, int n)
{
    __shared__ float part[THREADS];
    int first = blockIdx.x * THREADS * ITEMS;
    float sum = 0;
    for (int k = 0; k < ITEMS; k++) {
        int i = first + k * THREADS + threadIdx.x;
        if (i < n)
            sum += in[i];
    }
    part[threadIdx.x] = sum;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (threadIdx.x == 0)
        sums[blockIdx.x] = part[0];
}

template <int THREADS, int ITEMS>
__global__ void scan_tiles(const float *in, const float *sums, float *out, int n)
{
    __shared__ Tile<THREADS, ITEMS> tile;
    __shared__ float part[THREADS];
    int first = blockIdx.x * tile.size;
    tile.load(in + first, n - first);
    float own = 0;
    for (int k = 0; k < ITEMS; k++)
        own += tile.data[threadIdx.x * ITEMS + k];
    // What the tiles before have, shared out to the threads.
    float before = 0;
    for (int t = threadIdx.x; t < blockIdx.x; t += THREADS)
        before += sums[t];
    part[threadIdx.x] = before;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
    }
    __syncthreads();
    float value = part[0];
    __syncthreads();
    part[threadIdx.x] = own;
    for (int d = 1; d < THREADS; d *= 2) {
        __syncthreads();
        float left = threadIdx.x >= d ? part[threadIdx.x - d] : 0;
        __syncthreads();
        part[threadIdx.x] += left;
    }
    value += part[threadIdx.x] - own;
    for (int k = 0; k < ITEMS; k++) {
        value += tile.data[threadIdx.x * ITEMS + k];
        tile.data[threadIdx.x * ITEMS + k] = value;
    }
    tile.store(out + first, n - first);
}

extern "C" void solve(const float *in, float *out, int n)
{
    constexpr int threads = 128, items = 4;
    int tiles = (n + threads * items - 1) / (threads * items);
    float *sums;
    cudaMalloc(&sums, sizeof(float) * tiles);
    sums_of_tiles<threads, items><<<tiles, threads>>>(in, sums, n);
    scan_tiles<threads, items><<<tiles, threads>>>(in, sums, out, n);
    cudaFree(sums);
}
