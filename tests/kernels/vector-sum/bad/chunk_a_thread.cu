// Each thread adds up neighbouring elements.
__global__ void sum(const float *in, float *out, int n) {
    int first = 16 * (blockIdx.x * blockDim.x + threadIdx.x);
    float mine = 0.0f;
    for (int i = first; i < min(first + 16, n); ++i) {
        mine += in[i];
    }
    for (int k = 16; k > 0; k /= 2) mine += __shfl_down_sync(0xffffffff, mine, k);
    if (threadIdx.x % 32 == 0) atomicAdd(out, mine);
}

void solve(const float *in, float *out, int n) {
    sum<<<(n + 2047) / 2048, 128>>>(in, out, n);
}
