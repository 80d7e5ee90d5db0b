// The lab's own kernel: students' are timed against it.
__global__ void scale(const float *in, float *out, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = 2 * in[i] + 1;
}
