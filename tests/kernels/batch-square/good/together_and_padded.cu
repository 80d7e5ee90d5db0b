// The block loads its matrices together and keeps them an odd distance apart; the number of matrices comes first.
__global__ void sq_shared(int count, int n, const float *src, float *dst)
{
    extern __shared__ float buf[];
    const int size = n * n, pitch = size | 1, first = blockIdx.x * blockDim.x;
    const int here = min((int)blockDim.x, count - first);
    for (int i = threadIdx.x; i < here * size; i += blockDim.x)
        buf[i / size * pitch + i % size] = src[first * size + i];
    __syncthreads();
    const float *a = buf + threadIdx.x * pitch;
    if (threadIdx.x < here)
        for (int e = 0; e < size; ++e) {
            const int i = e / n, j = e % n;
            float s = 0;
            for (int k = 0; k < n; ++k)
                s += a[i * n + k] * a[k * n + j];
            dst[(first + threadIdx.x) * size + e] = s;
        }
}

int main()
{
    int n = 10, count = 1000, threads = 64;
    float *a, *b;
    cudaMalloc(&a, count * n * n * 4);
    cudaMalloc(&b, count * n * n * 4);
    sq_shared<<<(count + threads - 1) / threads, threads, threads * (n * n + 1) * sizeof(float)>>>(count, n, a, b);
    return 0;
}
