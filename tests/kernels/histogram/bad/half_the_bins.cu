// Blocks of 128 threads, each of which looks after one of 256 counters.
#define BINS 256

__global__ void histogram(const unsigned char *data, unsigned *bins, int n) {
    __shared__ unsigned own[BINS];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        atomicAdd(&own[data[i]], 1u);
    }
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

void solve(const unsigned char *data, unsigned int *bins, int n) {
    histogram<<<min((n + 127) / 128, 8), 128>>>(data, bins, n);
}
