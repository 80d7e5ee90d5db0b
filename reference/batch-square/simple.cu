// One thread, one matrix, straight from global memory.
__global__ void square_simple(const float *in, float *out, int n, int count)
{
    const int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= count) // the last block has threads without a matrix
        return;

    const float *a = in + (size_t)index * n * n;
    float *square = out + (size_t)index * n * n;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            float sum = 0;
            for (int k = 0; k < n; ++k)
                sum += a[i * n + k] * a[k * n + j];
            square[i * n + j] = sum;
        }
}
