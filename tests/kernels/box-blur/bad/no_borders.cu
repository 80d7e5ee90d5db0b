// Every element gets a whole window, the first and last ones partly from outside.
__global__ void blur_naive(const float *in, float *out, int count, int radius)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    float sum = 0;
    for (int k = -radius; k <= radius; ++k)
        sum += in[i + k];
    out[i] = sum / (2 * radius + 1);
}
