// The window is loaded, the sum is taken from global memory.
__global__ void blur_shared(const float *in, float *out, int count, int radius)
{
    extern __shared__ volatile float w[];
    const int i = blockIdx.x * blockDim.x + threadIdx.x, first = blockIdx.x * blockDim.x - radius;
    for (int k = threadIdx.x; k < blockDim.x + 2 * radius; k += blockDim.x)
        w[k] = first + k >= 0 && first + k < count ? in[first + k] : 0;
    __syncthreads();
    if (i >= count)
        return;
    float sum = 0;
    if (i >= radius && i < count - radius)
        for (int k = -radius; k <= radius; ++k)
            sum += in[i + k];
    out[i] = i < radius || i >= count - radius ? w[threadIdx.x + radius] : sum / (2 * radius + 1);
}
