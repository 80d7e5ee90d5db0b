// 0 where the neighbours of the block before should be.
#define RADIUS 2
#define BLOCK_SIZE 64
typedef float pixel;
__global__ void blur_tile(pixel *in, pixel *out, int n)
{
    __shared__ pixel s[BLOCK_SIZE + 2 * RADIUS];
    int i = blockIdx.x * BLOCK_SIZE + threadIdx.x;
    s[threadIdx.x + RADIUS] = i < n ? in[i] : 0;
    if (threadIdx.x < RADIUS) s[threadIdx.x] = 0;
    if (threadIdx.x >= BLOCK_SIZE - RADIUS) s[threadIdx.x + 2 * RADIUS] = i + RADIUS < n ? in[i + RADIUS] : 0;
    __syncthreads();
    if (i < n) {
        if (i < RADIUS || i >= n - RADIUS) out[i] = in[i];
        else {
            pixel sum = 0;
            for (int d = 0; d < 2 * RADIUS + 1; d++) sum += s[threadIdx.x + d];
            out[i] = sum / (2 * RADIUS + 1);
        }
    }
}
