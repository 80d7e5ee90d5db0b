// 256 threads and ten rows: 102400 bytes, for which the host raises the limit.
__global__ void squareShared(const float *in, float *out, int n, int batch)
{
    extern __shared__ float mats[];
    float *a = mats + threadIdx.x * n * n;
    const int m = blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= batch)
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
    const int n = 10, batch = 1000, threads = 256;
    float *a, *b;
    cudaMalloc(&a, batch * n * n * 4);
    cudaMalloc(&b, batch * n * n * 4);
    const int bytes = threads * n * n * sizeof(float);
    cudaFuncSetAttribute(squareShared, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    squareShared<<<(batch + threads - 1) / threads, threads, bytes>>>(a, b, n, batch);
    return cudaDeviceSynchronize();
}
