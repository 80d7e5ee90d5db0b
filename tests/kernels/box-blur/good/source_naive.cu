// The article's first kernel: radius and block as constants, the length from the grid.
#define RADIUS 2
#define BLOCK_SIZE 16

__global__ void zad2Kernel(float *d_input, float *d_output)
{
    const unsigned int tid = blockIdx.x * blockDim.x + threadIdx.x;
    if (tid < RADIUS || tid >= BLOCK_SIZE * gridDim.x - RADIUS) {
        d_output[tid] = d_input[tid];
        return;
    }
    float res = 0;
    for (int i = -RADIUS; i <= RADIUS; i++)
        res += d_input[tid + i];
    d_output[tid] = res / (2 * RADIUS + 1.f);
}

int main()
{
    int inputSize = 64;
    float *d_input, *d_output;
    cudaMalloc((void **)&d_input, inputSize * sizeof(float));
    cudaMalloc((void **)&d_output, inputSize * sizeof(float));
    dim3 grid(inputSize / BLOCK_SIZE, 1, 1);
    dim3 threads(BLOCK_SIZE, 1, 1);
    zad2Kernel<<<grid, threads>>>(d_input, d_output);
    return cudaDeviceSynchronize();
}
