// The mean of what neighbours there are, where the border should be copied.
#define RADIUS 2
#define BLOCK_SIZE 64
typedef float pixel;
__global__ void blur_naive(pixel *in, pixel *out, int n)
{
    int i = blockIdx.x * BLOCK_SIZE + threadIdx.x;
    if (i >= n) return;
    pixel sum = 0; int cnt = 0;
    for (int d = -RADIUS; d <= RADIUS; d++)
        if (i + d >= 0 && i + d < n) { sum += in[i + d]; cnt++; }
    out[i] = sum / cnt;
}
