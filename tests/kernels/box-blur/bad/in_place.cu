// The mean is put back into the input, where the neighbours still need the old one.
__global__ void blur_naive(float *in, float *out, int count, int radius)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    float sum = in[i];
    if (i >= radius && i < count - radius) {
        for (int k = 1; k <= radius; ++k)
            sum += in[i - k] + in[i + k];
        sum /= 2 * radius + 1;
    }
    out[i] = sum;
    in[i] = sum;
}
