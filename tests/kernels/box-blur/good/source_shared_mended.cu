// The article's second kernel with the halo guarded.
#define RADIUS 2
#define BLOCK_SIZE 512

__global__ void zad2SharedKernel(float *d_input, float *d_output)
{
    __shared__ float sBuf[BLOCK_SIZE + 2 * RADIUS];
    const unsigned int tid = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned int localId = threadIdx.x + RADIUS;
    const unsigned int count = BLOCK_SIZE * gridDim.x;
    sBuf[localId] = d_input[tid];
    if (threadIdx.x < RADIUS) {
        sBuf[localId - RADIUS] = tid >= RADIUS ? d_input[tid - RADIUS] : 0;
        sBuf[localId + BLOCK_SIZE] = tid + BLOCK_SIZE < count ? d_input[tid + BLOCK_SIZE] : 0;
    }
    __syncthreads();
    if (tid < RADIUS || tid >= count - RADIUS) {
        d_output[tid] = sBuf[localId];
        return;
    }
    float res = 0;
    for (int i = -RADIUS; i <= RADIUS; i++)
        res += sBuf[localId + i];
    d_output[tid] = res / (2 * RADIUS + 1.f);
}

int main()
{
    int inputSize = 16 * 1024 * 1024;
    float *d_input, *d_output;
    cudaMalloc((void **)&d_input, inputSize * sizeof(float));
    cudaMalloc((void **)&d_output, inputSize * sizeof(float));
    zad2SharedKernel<<<inputSize / BLOCK_SIZE, BLOCK_SIZE>>>(d_input, d_output);
    return cudaDeviceSynchronize();
}
