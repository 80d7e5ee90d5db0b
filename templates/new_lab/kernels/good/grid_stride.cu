// Right in another style: each thread goes on by the size of the whole grid.
__global__ void scale(const float *x, float *y, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = 2 * x[i] + 1;
}
