// Counters for each warp, so that fewer threads meet at one.
#define BINS 256
#define WARPS 4

__global__ void histogram(const unsigned char *data, unsigned *bins, int n) {
    __shared__ unsigned own[WARPS][BINS];
    for (int b = threadIdx.x; b < WARPS * BINS; b += blockDim.x) own[b / BINS][b % BINS] = 0;
    __syncthreads();
    unsigned *mine = own[threadIdx.x / 32];
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&mine[data[i]], 1u);
    __syncthreads();
    for (int b = threadIdx.x; b < BINS; b += blockDim.x) {
        unsigned all = 0;
        for (int w = 0; w < WARPS; ++w) all += own[w][b];
        if (all) atomicAdd(&bins[b], all);
    }
}

void solve(const unsigned char *data, unsigned int *bins, int n) {
    histogram<<<min((n + 511) / 512, 16), 32 * WARPS>>>(data, bins, n);
}
