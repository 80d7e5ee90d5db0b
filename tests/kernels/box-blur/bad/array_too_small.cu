// Room for the block only, none for the halo.
#define RADIUS 2
#define BLOCK_SIZE 256
__global__ void blur_shared(const float *in, float *out, int count)
{
    __shared__ float w[BLOCK_SIZE];
    const int first = blockIdx.x * BLOCK_SIZE - RADIUS, i = blockIdx.x * BLOCK_SIZE + threadIdx.x;
    for (int k = threadIdx.x; k < BLOCK_SIZE + 2 * RADIUS; k += BLOCK_SIZE)
        w[k] = first + k >= 0 && first + k < count ? in[first + k] : 0;
    __syncthreads();
    if (i >= count)
        return;
    float sum = 0;
    for (int k = 0; k <= 2 * RADIUS; ++k)
        sum += w[threadIdx.x + k];
    out[i] = i < RADIUS || i >= count - RADIUS ? w[threadIdx.x + RADIUS] : sum / (2 * RADIUS + 1);
}
