// The size K stands where the index k should: every column gets the same element, and the last row is past the end.
__global__ void gShared_Transposition_Wrong(float *matrix, float *result, const int N, const int K)
{
    __shared__ float shared[32][32];
    unsigned int k = threadIdx.x + blockIdx.x * blockDim.x;
    unsigned int n = threadIdx.y + blockIdx.y * blockDim.y;
    shared[threadIdx.y][threadIdx.x] = matrix[K + n * N];
    __syncthreads();
    k = threadIdx.x + blockIdx.y * blockDim.x;
    n = threadIdx.y + blockIdx.x * blockDim.y;
    result[k + n * N] = shared[threadIdx.x][threadIdx.y];
}
