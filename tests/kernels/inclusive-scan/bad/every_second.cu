// Reads and writes elements that lie two apart: half of every sector is fetched in vain.
#define THREADS 128
#define SIZE (2 * THREADS)

__global__ void scan(const float *in, float *out, float *sums, int n) {
    __shared__ float t[SIZE];
    int k = threadIdx.x, a = blockIdx.x * SIZE + 2 * k, b = a + 1, stride = 1;
    t[2 * k] = a < n ? in[a] : 0;
    t[2 * k + 1] = b < n ? in[b] : 0;
    for (int d = THREADS; d > 0; d /= 2) {
        __syncthreads();
        if (k < d) t[stride * (2 * k + 2) - 1] += t[stride * (2 * k + 1) - 1];
        stride *= 2;
    }
    __syncthreads();
    if (k == 0) {
        sums[blockIdx.x] = t[SIZE - 1];
        t[SIZE - 1] = 0;
    }
    for (int d = 1; d < SIZE; d *= 2) {
        stride /= 2;
        __syncthreads();
        if (k < d) {
            float left = t[stride * (2 * k + 1) - 1];
            t[stride * (2 * k + 1) - 1] = t[stride * (2 * k + 2) - 1];
            t[stride * (2 * k + 2) - 1] += left;
        }
    }
    __syncthreads();
    if (a < n) out[a] = t[2 * k] + in[a];
    if (b < n) out[b] = t[2 * k + 1] + in[b];
}

__global__ void add(float *out, const float *sums, int n) {
    float before = 0;
    for (int i = 0; i < blockIdx.x; ++i) before += sums[i];
    for (int i = blockIdx.x * SIZE + threadIdx.x; i < min(n, (blockIdx.x + 1) * SIZE); i += THREADS) out[i] += before;
}

void solve(const float *in, float *out, int n) {
    int blocks = (n + SIZE - 1) / SIZE;
    float *sums;
    cudaMalloc(&sums, blocks * sizeof(float));
    scan<<<blocks, THREADS>>>(in, out, sums, n);
    add<<<blocks, THREADS>>>(out, sums, n);
    cudaFree(sums);
}
