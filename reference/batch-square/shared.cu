// One thread, one matrix.  The block copies its matrices together, so that neighbours read neighbouring elements.
__global__ void square_shared(const float *in, float *out, int n, int count)
{
    extern __shared__ float matrices[]; // blockDim.x · n · n elements

    const int size = n * n;
    const int first = blockIdx.x * blockDim.x;
    const int here = min((int)blockDim.x, count - first);
    for (int i = threadIdx.x; i < here * size; i += blockDim.x)
        matrices[i] = in[(size_t)first * size + i];
    __syncthreads();

    if (threadIdx.x >= here)
        return;
    const float *a = matrices + threadIdx.x * size;
    float *square = out + (size_t)(first + threadIdx.x) * size;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            float sum = 0;
            for (int k = 0; k < n; ++k)
                sum += a[i * n + k] * a[k * n + j];
            square[i * n + j] = sum;
        }
}
