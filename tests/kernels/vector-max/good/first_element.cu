// The first element stands for what is missing; blocks of 96 threads, which are no power of two.
__global__ void largest(const float *in, float *out, int n) {
    extern __shared__ float part[];
    float mine = in[0];
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        if (in[i] > mine) mine = in[i];
    }
    part[threadIdx.x] = mine;
    __syncthreads();
    for (int left = blockDim.x; left > 1; left = (left + 1) / 2) {
        int half = (left + 1) / 2;
        if (threadIdx.x + half < left && part[threadIdx.x + half] > part[threadIdx.x]) {
            part[threadIdx.x] = part[threadIdx.x + half];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

extern "C" void solve(const float *in, float *out, int n) {
    int blocks = min((n + 95) / 96, 7);
    float *parts;
    cudaMalloc(&parts, blocks * sizeof(float));
    largest<<<blocks, 96, 96 * sizeof(float)>>>(in, parts, n);
    largest<<<1, 96, 96 * sizeof(float)>>>(parts, out, blocks);
    cudaFree(parts);
}
