// The course's two kernels with a guard and the number of matrices.
__global__ void matrixSquareSimple(float *input, float *output, int N, int numMatrices)
{
    int tid = blockIdx.x * blockDim.x + threadIdx.x;
    if (tid >= numMatrices)
        return;
    int matrixSize = N * N;
    float *in = input + tid * matrixSize;
    float *out = output + tid * matrixSize;
    for (int i = 0; i < N; ++i)
        for (int j = 0; j < N; ++j) {
            float sum = 0.0f;
            for (int k = 0; k < N; ++k)
                sum += in[i * N + k] * in[k * N + j];
            out[i * N + j] = sum;
        }
}

__global__ void matrixSquareShared(float *input, float *output, int N, int numMatrices)
{
    extern __shared__ float s_data[];
    int tid = blockIdx.x * blockDim.x + threadIdx.x;
    int matrixSize = N * N;
    float *s_matrix = s_data + threadIdx.x * matrixSize;
    if (tid < numMatrices)
        for (int i = 0; i < matrixSize; ++i)
            s_matrix[i] = input[tid * matrixSize + i];
    __syncthreads();
    if (tid >= numMatrices)
        return;
    for (int i = 0; i < N; ++i)
        for (int j = 0; j < N; ++j) {
            float sum = 0.0f;
            for (int k = 0; k < N; ++k)
                sum += s_matrix[i * N + k] * s_matrix[k * N + j];
            output[tid * matrixSize + i * N + j] = sum;
        }
}

int main()
{
    int N = 5, numMatrices = 1000, threadsPerBlock = 256;
    float *d_input, *d_output;
    cudaMalloc(&d_input, numMatrices * N * N * sizeof(float));
    cudaMalloc(&d_output, numMatrices * N * N * sizeof(float));
    int blocks = (numMatrices + threadsPerBlock - 1) / threadsPerBlock;
    matrixSquareSimple<<<blocks, threadsPerBlock>>>(d_input, d_output, N, numMatrices);
    size_t sharedMemSize = threadsPerBlock * N * N * sizeof(float);
    cudaFuncSetAttribute(matrixSquareShared, cudaFuncAttributeMaxDynamicSharedMemorySize, 102400);
    matrixSquareShared<<<blocks, threadsPerBlock, sharedMemSize>>>(d_input, d_output, N, numMatrices);
    return cudaDeviceSynchronize();
}
