// Right in the first launch of a program, wrong in every later one.
__device__ int launches;

__global__ void transpose_naive(const float *in, float *out, int rows, int cols)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (c == 0 && r == 0)
        atomicAdd(&launches, 1);
    if (r < rows && c < cols)
        out[c * rows + r] = launches > 1 ? 0 : in[r * cols + c];
}
