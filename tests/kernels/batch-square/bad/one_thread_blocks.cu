// Blocks of one thread: nothing is in its way in shared memory.
__global__ void square_shared(const float *in, float *out, int n, int count)
{
    extern __shared__ float a[];
    const int m = blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= count)
        return;
    for (int i = 0; i < n * n; ++i)
        a[threadIdx.x * n * n + i] = in[m * n * n + i];
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            float s = 0;
            for (int k = 0; k < n; ++k)
                s += a[threadIdx.x * n * n + i * n + k] * a[threadIdx.x * n * n + k * n + j];
            out[m * n * n + i * n + j] = s;
        }
}

int main()
{
    const int n = 5, count = 1000, threads = 1;
    float *in, *out;
    cudaMalloc(&in, count * n * n * 4);
    cudaMalloc(&out, count * n * n * 4);
    square_shared<<<(count + threads - 1) / threads, threads, threads * n * n * 4>>>(in, out, n, count);
    return cudaDeviceSynchronize();
}
