// Blelloch: up and down a tree in dynamic shared memory, two elements a thread, banks kept apart; levels in a loop.
#include <cstdio>
#include <vector>

#define LOG_BANKS 5
#define SKIP(i) ((i) + ((i) >> LOG_BANKS))

const int threads = 128;
const int per_block = 2 * threads;

__global__ void blelloch(const float *g_in, float *g_out, float *g_sums, int n)
{
    extern __shared__ float temp[];
    const int t = threadIdx.x;
    const int base = blockIdx.x * 2 * blockDim.x;
    const int a = base + t, b = base + t + blockDim.x;
    const float own_a = a < n ? g_in[a] : 0, own_b = b < n ? g_in[b] : 0;
    temp[SKIP(t)] = own_a;
    temp[SKIP(t + blockDim.x)] = own_b;

    int stride = 1;
    for (int d = blockDim.x; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) {
            int ai = stride * (2 * t + 1) - 1, bi = stride * (2 * t + 2) - 1;
            temp[SKIP(bi)] += temp[SKIP(ai)];
        }
        stride *= 2;
    }
    if (t == 0) {
        int last = 2 * blockDim.x - 1;
        g_sums[blockIdx.x] = temp[SKIP(last)];
        temp[SKIP(last)] = 0;
    }
    for (int d = 1; d < 2 * blockDim.x; d *= 2) {
        stride >>= 1;
        __syncthreads();
        if (t < d) {
            int ai = stride * (2 * t + 1) - 1, bi = stride * (2 * t + 2) - 1;
            float left = temp[SKIP(ai)];
            temp[SKIP(ai)] = temp[SKIP(bi)];
            temp[SKIP(bi)] += left;
        }
    }
    __syncthreads();
    // Exclusive sums and the elements themselves.
    if (a < n)
        g_out[a] = temp[SKIP(t)] + own_a;
    if (b < n)
        g_out[b] = temp[SKIP(t + blockDim.x)] + own_b;
}

__global__ void uniform_add(float *out, const float *sums, int n)
{
    int i = blockIdx.x * per_block + threadIdx.x;
    float add = blockIdx.x ? sums[blockIdx.x - 1] : 0;
    if (i < n)
        out[i] += add;
    if (i + threads < n)
        out[i + threads] += add;
}

void solve(const float *in, float *out, int n)
{
    // Level 0 is the array itself, each next one the sums of the blocks of the one before.
    std::vector<int> lengths{n};
    while (lengths.back() > per_block)
        lengths.push_back((lengths.back() + per_block - 1) / per_block);
    std::vector<float *> sums(lengths.size());
    for (size_t level = 0; level < lengths.size(); level++) {
        int blocks = (lengths[level] + per_block - 1) / per_block;
        cudaMalloc((void **)&sums[level], blocks * sizeof(float));
        const float *from = level ? sums[level - 1] : in;
        float *to = level ? sums[level - 1] : out;
        blelloch<<<blocks, threads, SKIP(per_block) * sizeof(float)>>>(from, to, sums[level], lengths[level]);
    }
    for (int level = (int)lengths.size() - 2; level >= 0; level--) {
        int blocks = (lengths[level] + per_block - 1) / per_block;
        uniform_add<<<blocks, threads>>>(level ? sums[level - 1] : out, sums[level], lengths[level]);
    }
    for (float *s : sums)
        cudaFree(s);
}
