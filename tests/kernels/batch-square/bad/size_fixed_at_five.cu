// Takes n, but counts to five.
__global__ void square_simple(const float *in, float *out, int n, int count)
{
    const int m = blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= count)
        return;
    for (int i = 0; i < 5; ++i)
        for (int j = 0; j < 5; ++j) {
            float s = 0;
            for (int k = 0; k < 5; ++k)
                s += in[m * 25 + i * 5 + k] * in[m * 25 + k * 5 + j];
            out[m * 25 + i * 5 + j] = s;
        }
}
