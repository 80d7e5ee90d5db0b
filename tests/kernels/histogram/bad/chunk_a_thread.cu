// Each thread takes sixteen bytes in a row, one by one.
#define BINS 256

__global__ void histogram(const unsigned char *data, unsigned *bins, int n) {
    __shared__ unsigned own[BINS];
    own[threadIdx.x] = 0;
    __syncthreads();
    int first = 16 * (blockIdx.x * BINS + threadIdx.x);
    for (int i = first; i < first + 16 && i < n; ++i) {
        atomicAdd(&own[data[i]], 1u);
    }
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

void solve(const unsigned char *data, unsigned int *bins, int n) {
    histogram<<<(n + 16 * BINS - 1) / (16 * BINS), BINS>>>(data, bins, n);
}
