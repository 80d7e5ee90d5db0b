// Shared memory whose size the launch says; blocks of 512 threads.
__global__ void histogram(const unsigned char *__restrict__ data, unsigned int *__restrict__ bins, int n, int count) {
    extern __shared__ unsigned int counters[];
    for (int b = threadIdx.x; b < count; b += blockDim.x) counters[b] = 0;
    __syncthreads();
    int step = gridDim.x * blockDim.x;
    for (int i = blockDim.x * blockIdx.x + threadIdx.x; i < n; i += step) atomicAdd(counters + data[i], 1);
    __syncthreads();
    for (int b = threadIdx.x; b < count; b += blockDim.x) {
        if (counters[b] > 0) atomicAdd(bins + b, counters[b]);
    }
}

extern "C" void solve(const unsigned char *data, unsigned int *bins, int n) {
    const int count = 256, threads = 512;
    int blocks = (n + threads - 1) / threads;
    if (blocks > 32) blocks = 32;
    histogram<<<blocks, threads, count * sizeof(unsigned int)>>>(data, bins, n, count);
    cudaDeviceSynchronize();
}
