// Threads beyond the data leave before the barrier that the task wants all to reach.
__global__ void blur_shared(const float *in, float *out, int count, int radius)
{
    extern __shared__ float w[];
    const int i = blockIdx.x * blockDim.x + threadIdx.x, first = blockIdx.x * blockDim.x - radius;
    if (i >= count)
        return;
    const int last = min(count, (int)((blockIdx.x + 1) * blockDim.x)) + radius;
    for (int k = threadIdx.x; first + k < last; k += blockDim.x)
        w[k] = first + k >= 0 && first + k < count ? in[first + k] : 0;
    __syncthreads();
    float sum = 0;
    for (int k = 0; k <= 2 * radius; ++k)
        sum += w[threadIdx.x + k];
    out[i] = i < radius || i >= count - radius ? w[threadIdx.x + radius] : sum / (2 * radius + 1);
}
