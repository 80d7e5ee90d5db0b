// The right halo is stored a radius too far left: over the block's own last elements.
__global__ void blur_shared(const float *in, float *out, int count, int radius)
{
    extern __shared__ float w[];
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (i < count)
        w[t + radius] = in[i];
    if (t < radius) {
        if (i - radius >= 0)
            w[t] = in[i - radius];
        if (i + (int)blockDim.x < count)
            w[t + blockDim.x] = in[i + blockDim.x];
    }
    __syncthreads();
    if (i >= count)
        return;
    if (i < radius || i >= count - radius) {
        out[i] = w[t + radius];
        return;
    }
    float sum = 0;
    for (int k = 0; k <= 2 * radius; ++k)
        sum += w[t + k];
    out[i] = sum / (2 * radius + 1);
}
