// The last neighbour is left out of the sum.
__global__ void blur_naive(const float *in, float *out, int count, int radius)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    if (i < radius || i >= count - radius) {
        out[i] = in[i];
        return;
    }
    float sum = 0;
    for (int k = -radius; k < radius; ++k)
        sum += in[i + k];
    out[i] = sum / (2 * radius + 1);
}
