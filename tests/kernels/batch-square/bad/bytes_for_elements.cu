// The launch gives as many bytes as there are elements.
__global__ void MatrixSquareShared(float *d_in, float *d_out, int N, int num_matrices)
{
    extern __shared__ float tile[];
    int idx = threadIdx.x + blockIdx.x * blockDim.x;
    if (idx < num_matrices) {
        for (int i = 0; i < N * N; i++) tile[threadIdx.x * N * N + i] = d_in[idx * N * N + i];
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                float s = 0;
                for (int k = 0; k < N; k++) s += tile[threadIdx.x * N * N + i * N + k] * tile[threadIdx.x * N * N + k * N + j]; 
                d_out[idx * N * N + i * N + j] = s;
            }
    }
}

int main()
{
    int N = 5, num = 1000, th = 256;
    float *a, *b;
    cudaMalloc(&a, num * N * N * sizeof(float));
    cudaMalloc(&b, num * N * N * sizeof(float));
    MatrixSquareShared<<<(num + th - 1) / th, th, th * N * N>>>(a, b, N, num);
}
