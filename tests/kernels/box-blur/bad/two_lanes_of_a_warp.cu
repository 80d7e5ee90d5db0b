// Sixteen lanes at a distance of one warp: two lanes of each warp work, and do the others' part as well.
__global__ void blur_naive(const float *in, float *out, int count, int radius)
{
    const int lane = threadIdx.x % 32;
    if (lane % 16)
        return;
    for (int k = 0; k < 16; ++k) {
        const int i = blockIdx.x * blockDim.x + threadIdx.x + k;
        if (i >= count)
            return;
        float sum = 0;
        if (i >= radius && i < count - radius)
            for (int j = -radius; j <= radius; ++j)
                sum += in[i + j];
        out[i] = i < radius || i >= count - radius ? in[i] : sum / (2 * radius + 1);
    }
}
