// Loaded together, used without waiting.
__global__ void square_shared(const float *in, float *out, int n, int count)
{
    extern __shared__ float mats[];
    const int size = n * n, first = blockIdx.x * blockDim.x;
    for (int i = threadIdx.x; i < blockDim.x * size && first * size + i < count * size; i += blockDim.x)
        mats[i] = in[first * size + i];
    const int m = first + threadIdx.x;
    if (m >= count)
        return;
    const float *a = mats + threadIdx.x * size;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            float s = 0;
            for (int k = 0; k < n; ++k)
                s += a[i * n + k] * a[k * n + j];
            out[m * size + i * n + j] = s;
        }
}
