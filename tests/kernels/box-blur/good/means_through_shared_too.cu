// Running sums: a thread makes eight neighbouring means, which pass through shared memory too, so that they are stored
// by whole warps.
#define RADIUS 2
#define THREADS 64
#define PER 8
__global__ void smem_blur(float *in, float *out, int size)
{
    __shared__ float s[THREADS * PER + 2 * RADIUS], r[THREADS * PER];
    int base = blockIdx.x * THREADS * PER;
    for (int k = threadIdx.x; k < THREADS * PER + 2 * RADIUS; k += THREADS) {
        int g = min(max(base + k - RADIUS, 0), size - 1);
        s[k] = in[g];
    }
    __syncthreads();
    int o = threadIdx.x * PER;
    float sum = s[o] + s[o + 1] + s[o + 2] + s[o + 3];
    for (int k = 0; k < PER; k++) {
        sum += s[o + k + 4];
        r[o + k] = sum / 5;
        sum -= s[o + k];
    }
    __syncthreads();
    for (int k = threadIdx.x; k < THREADS * PER; k += THREADS) {
        int g = base + k;
        if (g < size) out[g] = (g < RADIUS || g >= size - RADIUS) ? s[k + RADIUS] : r[k];
    }
}

int main()
{
    const int n = 1 << 20, part = THREADS * PER;
    float *in, *out;
    cudaMalloc(&in, n * sizeof(float));
    cudaMalloc(&out, n * sizeof(float));
    smem_blur<<<(n + part - 1) / part, THREADS>>>(in, out, n);
    return 0;
}
