// The host copies the size to constant memory.
__constant__ int c_n;

__global__ void naive(const float *A, const float *B, float *C)
{
    int n = c_n;
    int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < n && c < n) {
        float s = 0;
        for (int k = 0; k < n; ++k)
            s += A[r * n + k] * B[k * n + c];
        C[r * n + c] = s;
    }
}

int main()
{
    int n = 512;
    float *A, *B, *C;
    cudaMalloc(&A, n * n * 4);
    cudaMalloc(&B, n * n * 4);
    cudaMalloc(&C, n * n * 4);
    cudaMemcpyToSymbol(c_n, &n, sizeof n);
    naive<<<dim3((n + 15) / 16, (n + 15) / 16), dim3(16, 16)>>>(A, B, C);
}
