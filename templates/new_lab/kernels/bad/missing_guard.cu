// Runs past the end where the length is no multiple of the block.
__global__ void scale(const float *x, float *y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = 2 * x[i] + 1;
}
