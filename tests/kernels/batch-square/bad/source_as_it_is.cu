// No guard: with 1000 matrices the last 24 of 1024 threads run past both arrays.
__global__ void matrixSquareSimple(float *input, float *output, int N)
{
    int tid = blockIdx.x * blockDim.x + threadIdx.x;
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

__global__ void matrixSquareShared(float *input, float *output, int N)
{
    extern __shared__ float s_data[];
    int tid = blockIdx.x * blockDim.x + threadIdx.x;
    int matrixSize = N * N;
    float *in = input + tid * matrixSize;
    float *out = output + tid * matrixSize;
    float *s_matrix = s_data + threadIdx.x * matrixSize;
    for (int i = 0; i < matrixSize; ++i)
        s_matrix[i] = in[i];
    __syncthreads();
    for (int i = 0; i < N; ++i)
        for (int j = 0; j < N; ++j) {
            float sum = 0.0f;
            for (int k = 0; k < N; ++k)
                sum += s_matrix[i * N + k] * s_matrix[k * N + j];
            out[i * N + j] = sum;
        }
}

int main()
{
    int N = 5, numMatrices = 1000, threadsPerBlock = 256;
    float *d_input, *d_output;
    cudaMalloc(&d_input, numMatrices * N * N * sizeof(float));
    cudaMalloc(&d_output, numMatrices * N * N * sizeof(float));
    int blocks = (numMatrices + threadsPerBlock - 1) / threadsPerBlock;
    matrixSquareSimple<<<blocks, threadsPerBlock>>>(d_input, d_output, N);
    size_t sharedMemSize = threadsPerBlock * N * N * sizeof(float);
    matrixSquareShared<<<blocks, threadsPerBlock, sharedMemSize>>>(d_input, d_output, N);
    return cudaDeviceSynchronize();
}
