// Threads beyond the data leave before the barrier that the task wants all to reach.
__global__ void blur_shared(const float *in, float *out, int count, int radius)
{
    extern __shared__ float w[];
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (i >= count)
        return;
    w[t + radius] = in[i];
    if (t < radius) {
        w[t] = i >= radius ? in[i - radius] : 0;
        w[t + radius + blockDim.x] = i + blockDim.x < count ? in[i + blockDim.x] : 0;
    }
    __syncthreads();
    float sum = 0;
    for (int k = 0; k <= 2 * radius; ++k)
        sum += w[t + k];
    out[i] = i < radius || i >= count - radius ? w[t + radius] : sum / (2 * radius + 1);
}
