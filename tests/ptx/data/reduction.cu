// A block-wide sum: a halving loop round a barrier, then a warp that exchanges through volatile shared memory.
extern "C" __global__ void reduce(const float* in, float* out, int n) {
    __shared__ volatile float sums[256];
    unsigned t = threadIdx.x;
    unsigned i = blockIdx.x * blockDim.x + t;
    sums[t] = i < n ? in[i] : 0.0f;
    __syncthreads();
    for (unsigned s = blockDim.x / 2; s > 32; s >>= 1) {
        if (t < s)
            sums[t] += sums[t + s];
        __syncthreads();
    }
    if (t < 32) {
        sums[t] += sums[t + 32];
        sums[t] += sums[t + 16];
        sums[t] += sums[t + 8];
    }
    if (t == 0)
        out[blockIdx.x] = sums[0];
}
