// One block a row or column, as many threads as it has elements.
__global__ void mul_row(const float *A, const float *B, float *C, int N)
{
    extern __shared__ float t[];
    int j = threadIdx.x;
    t[j] = A[blockIdx.x * N + j];
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < N; k++)
        sum += t[k] * B[k * N + j];
    C[blockIdx.x * N + j] = sum;
}

__global__ void mul_col(const float *A, const float *B, float *C, int N)
{
    extern __shared__ float t[];
    int i = threadIdx.x;
    t[i] = B[i * N + blockIdx.x];
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < N; k++)
        sum += A[i * N + k] * t[k];
    C[i * N + blockIdx.x] = sum;
}

int main(int argc, char **argv)
{
    int N = atoi(argv[1]);
    float *a, *b, *c;
    cudaMalloc(&a, N * N * sizeof(float));
    cudaMalloc(&b, N * N * sizeof(float));
    cudaMalloc(&c, N * N * sizeof(float));
    mul_row<<<N, N, N * sizeof(float)>>>(a, b, c, N);
    mul_col<<<N, N, N * sizeof(float)>>>(a, b, c, N);
    return 0;
}
