// The barrier stands with the halo: only the first threads reach it.
__global__ void blur_shared(const float *in, float *out, int count, int radius)
{
    extern __shared__ float w[];
    const int i = blockIdx.x * blockDim.x + threadIdx.x, l = threadIdx.x + radius;
    w[l] = i < count ? in[i] : 0;
    if (threadIdx.x < radius) {
        w[l - radius] = i >= radius && i - radius < count ? in[i - radius] : 0;
        w[l + blockDim.x] = i + (int)blockDim.x < count ? in[i + blockDim.x] : 0;
        __syncthreads();
    }
    if (i >= count)
        return;
    float sum = 0;
    for (int k = -radius; k <= radius; ++k)
        sum += w[l + k];
    out[i] = i < radius || i >= count - radius ? w[l] : sum / (2 * radius + 1);
}
