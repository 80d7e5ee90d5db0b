// 102400 bytes, and no word to the driver: the launch is refused.
__global__ void square_shared(const float *in, float *out, int n, int count)
{
    extern __shared__ float mats[];
    float *a = mats + threadIdx.x * n * n;
    const int m = blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= count)
        return;
    for (int i = 0; i < n * n; ++i)
        a[i] = in[m * n * n + i];
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            float s = 0;
            for (int k = 0; k < n; ++k)
                s += a[i * n + k] * a[k * n + j];
            out[m * n * n + i * n + j] = s;
        }
}

int main()
{
    const int n = 10, count = 1000, threads = 256;
    float *a, *b;
    cudaMalloc(&a, count * n * n * 4);
    cudaMalloc(&b, count * n * n * 4);
    square_shared<<<(count + threads - 1) / threads, threads, threads * n * n * sizeof(float)>>>(a, b, n, count);
    return 0;
}
