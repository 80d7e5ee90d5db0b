// Neighbouring threads take elements far apart: right, but nothing is coalesced.
__global__ void blur_naive(const float *in, float *out, int count, int radius)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    const int i = t % 32 * (threads / 32) + t / 32;
    if (i >= count)
        return;
    if (i < radius || i >= count - radius) {
        out[i] = in[i];
        return;
    }
    float sum = 0;
    for (int k = -radius; k <= radius; ++k)
        sum += in[i + k];
    out[i] = sum / (2 * radius + 1);
}
