// The mean as a difference of two prefix sums: a scan, whose halo is a small part of every step.
__global__ void blur_prefix_shared(const float *in, float *out, int count, int radius)
{
    extern __shared__ double p[]; // p[k]: the sum of the first k elements of the block and its halo
    int total = blockDim.x + 2 * radius, first = blockIdx.x * blockDim.x - radius;
    for (int k = threadIdx.x; k < total; k += blockDim.x) {
        int g = first + k;
        p[k + 1] = g >= 0 && g < count ? in[g] : 0.0;
    }
    if (threadIdx.x == 0) p[0] = 0;
    __syncthreads();
    for (int step = 1; step <= total; step *= 2) {
        double v0 = 0, v1 = 0;
        int k0 = threadIdx.x + 1, k1 = k0 + blockDim.x;
        if (k0 <= total && k0 - step > 0) v0 = p[k0 - step];
        if (k1 <= total && k1 - step > 0) v1 = p[k1 - step];
        __syncthreads();
        if (k0 <= total) p[k0] += v0;
        if (k1 <= total) p[k1] += v1;
        __syncthreads();
    }
    int i = first + radius + threadIdx.x;
    if (i < count) {
        int t = threadIdx.x;
        out[i] = i < radius || i >= count - radius ? float(p[t + radius + 1] - p[t + radius])
                                                   : float((p[t + 2 * radius + 1] - p[t]) / (2 * radius + 1));
    }
}

int main()
{
    const int n = 1 << 20, threads = 256, radius = 2;
    float *in, *out;
    cudaMalloc(&in, n * sizeof(float));
    cudaMalloc(&out, n * sizeof(float));
    blur_prefix_shared<<<(n + threads - 1) / threads, threads, (threads + 2 * radius + 1) * sizeof(double)>>>(in, out, n, radius);
    return 0;
}
