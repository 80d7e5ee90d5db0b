// Takes the length for its borders, but has no guard for the threads beyond it.
__global__ void blur_naive(const float *in, float *out, int count, int radius)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < radius || i >= count - radius) {
        out[i] = in[i];
        return;
    }
    float sum = 0;
    for (int k = -radius; k <= radius; ++k)
        sum += in[i + k];
    out[i] = sum / (2 * radius + 1);
}
