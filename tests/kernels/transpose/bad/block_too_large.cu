// A right kernel that no device ever ran: 64×64 threads are 4096.
__global__ void transpose_naive(const float *in, float *out, int rows, int cols)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < rows && c < cols)
        out[c * rows + r] = in[r * cols + c];
}

int main()
{
    const int rows = 1024, cols = 2048, threads = 64;
    float *a, *b;
    cudaMalloc(&a, rows * cols * sizeof(float));
    cudaMalloc(&b, rows * cols * sizeof(float));
    transpose_naive<<<dim3(cols / threads, rows / threads), dim3(threads, threads)>>>(a, b, rows, cols);
    return cudaDeviceSynchronize();
}
