// The copy is added to, not set: shared memory holds whatever was there.
__global__ void square_shared(const float *in, float *out, int n, int count)
{
    extern __shared__ float mats[];
    float *a = mats + threadIdx.x * n * n;
    const int m = blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= count)
        return;
    for (int i = 0; i < n * n; ++i)
        a[i] += in[m * n * n + i];
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            float s = 0;
            for (int k = 0; k < n; ++k)
                s += a[i * n + k] * a[k * n + j];
            out[m * n * n + i * n + j] = s;
        }
}
