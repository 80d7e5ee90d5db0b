// A block takes the last element of the block before from the result that is just being written.
#define BLOCK 256

__global__ void scan(const float *in, float *out, int n) {
    __shared__ float s[BLOCK];
    int i = blockIdx.x * BLOCK + threadIdx.x;
    s[threadIdx.x] = i < n ? in[i] : 0;
    for (int d = 1; d < BLOCK; d *= 2) {
        __syncthreads();
        float before = threadIdx.x >= d ? s[threadIdx.x - d] : 0;
        __syncthreads();
        s[threadIdx.x] += before;
    }
    if (i < n) out[i] = s[threadIdx.x];
    __syncthreads();
    if (blockIdx.x > 0 && i < n) out[i] += out[blockIdx.x * BLOCK - 1];
}

void solve(const float *in, float *out, int n) {
    scan<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(in, out, n);
}
