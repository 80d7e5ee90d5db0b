// The sum starts once a row instead of once an element.
__global__ void square_simple(const float *in, float *out, int n, int count)
{
    const int m = blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= count)
        return;
    for (int i = 0; i < n; ++i) {
        float s = 0;
        for (int j = 0; j < n; ++j) {
            for (int k = 0; k < n; ++k)
                s += in[m * n * n + i * n + k] * in[m * n * n + k * n + j];
            out[m * n * n + i * n + j] = s;
        }
    }
}
