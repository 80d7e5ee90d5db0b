// A block's elements with `radius` more on either side: each is read from global memory about once.
__global__ void blur_shared(const float *in, float *out, int count, int radius)
{
    extern __shared__ float window[]; // blockDim.x + 2·radius elements

    const int first = (int)(blockIdx.x * blockDim.x) - radius; // of the vector, may lie before its start
    for (int k = threadIdx.x; k < blockDim.x + 2 * radius; k += blockDim.x)
        if (first + k >= 0 && first + k < count)
            window[k] = in[first + k];
    __syncthreads(); // reached by every thread: no return before it

    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    if (i < radius || i >= count - radius) {
        out[i] = window[threadIdx.x + radius];
        return;
    }
    float sum = 0;
    for (int k = 0; k <= 2 * radius; ++k)
        sum += window[threadIdx.x + k];
    out[i] = sum / (2 * radius + 1);
}
