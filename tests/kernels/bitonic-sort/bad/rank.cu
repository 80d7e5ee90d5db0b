// Every thread counts how many elements come before its own.
__global__ void rank(const int *data, int *sorted, int n) {
    __shared__ int tile[256];
    int i = blockIdx.x * 256 + threadIdx.x, before = 0;
    int mine = i < n ? data[i] : 0;
    for (int first = 0; first < n; first += 256) {
        if (first + threadIdx.x < n) tile[threadIdx.x] = data[first + threadIdx.x];
        __syncthreads();
        for (int k = 0; k < min(256, n - first); ++k) {
            before += tile[k] < mine || (tile[k] == mine && first + k < i);
        }
        __syncthreads();
    }
    if (i < n) sorted[before] = mine;
}

void solve(int *data, int n) {
    int *sorted;
    cudaMalloc(&sorted, n * sizeof(int));
    rank<<<(n + 255) / 256, 256>>>(data, sorted, n);
    cudaMemcpy(data, sorted, n * sizeof(int), cudaMemcpyDeviceToDevice);
    cudaFree(sorted);
}
