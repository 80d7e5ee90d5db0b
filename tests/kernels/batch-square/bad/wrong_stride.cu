// Matrices taken to be n apart, not n · n: they overlap.
__global__ void square_simple(const float *in, float *out, int n, int count)
{
    const int m = blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= count)
        return;
    const float *a = in + m * n;
    float *r = out + m * n;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            float s = 0;
            for (int k = 0; k < n; ++k)
                s += a[i * n + k] * a[k * n + j];
            r[i * n + j] = s;
        }
}
