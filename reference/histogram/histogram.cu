// A histogram for each block in shared memory, 16 bytes a load, then one atomic addition for each value that occurred.
#define BINS 256
#define THREADS 256

__device__ void count(unsigned *own, unsigned word) {
    for (int k = 0; k < 4; ++k) atomicAdd(&own[word >> 8 * k & 255], 1u);
}

__global__ void histogram(const unsigned char *data, unsigned *bins, int n) {
    __shared__ unsigned own[BINS];
    for (int b = threadIdx.x; b < BINS; b += THREADS) own[b] = 0;
    __syncthreads();

    const int thread = blockIdx.x * THREADS + threadIdx.x, threads = gridDim.x * THREADS;
    const int words = (unsigned long long)data % 16 == 0 ? n / 16 : 0;
    for (int i = thread; i < words; i += threads) {
        const uint4 sixteen = reinterpret_cast<const uint4 *>(data)[i];
        count(own, sixteen.x);
        count(own, sixteen.y);
        count(own, sixteen.z);
        count(own, sixteen.w);
    }
    for (int i = 16 * words + thread; i < n; i += threads) atomicAdd(&own[data[i]], 1u);
    __syncthreads();

    for (int b = threadIdx.x; b < BINS; b += THREADS) {
        if (own[b] > 0) atomicAdd(&bins[b], own[b]);
    }
}

void solve(const unsigned char *data, unsigned int *bins, int n) {
    const int blocks = min((n + 16 * THREADS - 1) / (16 * THREADS), 1024);
    histogram<<<blocks, THREADS>>>(data, bins, n);
}
