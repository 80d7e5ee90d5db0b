// Hillis and Steele in one array, with no barrier between reading and writing.
#define BLOCK 256

__global__ void scan(const float *in, float *out, float *sums, int n) {
    __shared__ float s[BLOCK];
    int i = blockIdx.x * BLOCK + threadIdx.x;
    s[threadIdx.x] = i < n ? in[i] : 0;
    for (int d = 1; d < BLOCK; d *= 2) {
        __syncthreads();
        if (threadIdx.x >= d) s[threadIdx.x] += s[threadIdx.x - d];
    }
    if (i < n) out[i] = s[threadIdx.x];
    if (sums && threadIdx.x == BLOCK - 1) sums[blockIdx.x] = s[BLOCK - 1];
}

__global__ void add(float *out, const float *sums, int n) {
    int i = (blockIdx.x + 1) * BLOCK + threadIdx.x;
    if (i < n) out[i] += sums[blockIdx.x];
}

void solve(const float *in, float *out, int n) {
    int blocks = (n + BLOCK - 1) / BLOCK;
    if (blocks == 1) {
        scan<<<1, BLOCK>>>(in, out, nullptr, n);
        return;
    }
    float *sums, *scanned;
    cudaMalloc(&sums, blocks * sizeof(float));
    cudaMalloc(&scanned, blocks * sizeof(float));
    scan<<<blocks, BLOCK>>>(in, out, sums, n);
    solve(sums, scanned, blocks);
    add<<<blocks - 1, BLOCK>>>(out, scanned, n);
    cudaFree(sums);
    cudaFree(scanned);
}
