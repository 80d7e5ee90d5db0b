// Five neighbours written out: the radius is two and nothing else; output and length first.
__global__ void simpleBlur(float *dst, int len, const float *src)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < len)
        dst[i] = i < 2 || i > len - 3 ? src[i] : 0.2f * (src[i - 2] + src[i - 1] + src[i] + src[i + 1] + src[i + 2]);
}
