// Every block leaves its counters in a buffer; a second launch adds them up, a thread for each value.
#define BINS 256

__global__ void count(const unsigned char *data, unsigned *parts, int n) {
    __shared__ unsigned own[BINS];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * BINS + threadIdx.x; i < n; i += gridDim.x * BINS) atomicAdd(own + data[i], 1u);
    __syncthreads();
    parts[blockIdx.x * BINS + threadIdx.x] = own[threadIdx.x];
}

__global__ void add_up(const unsigned *parts, unsigned *bins, int blocks) {
    unsigned all = 0;
    for (int b = 0; b < blocks; ++b) all += parts[b * BINS + threadIdx.x];
    bins[threadIdx.x] = all;
}

void solve(const unsigned char *data, unsigned int *bins, int n) {
    const int blocks = min((n + BINS - 1) / BINS, 12);
    unsigned *parts;
    cudaMalloc(&parts, blocks * BINS * sizeof(unsigned));
    count<<<blocks, BINS>>>(data, parts, n);
    add_up<<<1, BINS>>>(parts, bins, blocks);
    cudaFree(parts);
}
