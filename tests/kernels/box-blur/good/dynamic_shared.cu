// Both sizes as arguments; the array is sized by the launch.
__global__ void blurShared(const float *in, float *out, int n, int r)
{
    extern __shared__ float s[];
    const int g = blockIdx.x * blockDim.x + threadIdx.x, l = threadIdx.x + r;
    s[l] = g < n ? in[g] : 0;
    if (threadIdx.x < r) {
        s[l - r] = g >= r && g - r < n ? in[g - r] : 0;
        s[l + blockDim.x] = g + (int)blockDim.x < n ? in[g + blockDim.x] : 0;
    }
    __syncthreads();
    if (g >= n)
        return;
    float sum = 0;
    for (int k = -r; k <= r; ++k)
        sum += s[l + k];
    out[g] = g < r || g >= n - r ? s[l] : sum / (2 * r + 1);
}

int main()
{
    const int n = 1 << 20, r = 3, threads = 128;
    float *a, *b;
    cudaMalloc(&a, n * 4);
    cudaMalloc(&b, n * 4);
    blurShared<<<(n + threads - 1) / threads, threads, (threads + 2 * r) * sizeof(float)>>>(a, b, n, r);
    return 0;
}
