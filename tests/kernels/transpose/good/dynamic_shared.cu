// A dynamic array, sized by the launch.
__global__ void transposeShared(const float *src, float *dst, int rows, int cols)
{
    extern __shared__ float buf[];
    const int side = blockDim.x;
    int c = blockIdx.x * side + threadIdx.x;
    int r = blockIdx.y * side + threadIdx.y;
    if (r < rows && c < cols)
        buf[threadIdx.y * side + threadIdx.x] = src[r * cols + c];
    __syncthreads();
    c = blockIdx.y * side + threadIdx.x;
    r = blockIdx.x * side + threadIdx.y;
    if (r < cols && c < rows)
        dst[r * rows + c] = buf[threadIdx.x * side + threadIdx.y];
}

int main()
{
    const int rows = 512, cols = 256, threads = 32;
    float *a = nullptr, *b = nullptr;
    cudaMalloc(&a, rows * cols * 4);
    cudaMalloc(&b, rows * cols * 4);
    dim3 grid((cols + threads - 1) / threads, (rows + threads - 1) / threads);
    transposeShared<<<grid, dim3(threads, threads), threads * threads * sizeof(float)>>>(a, b, rows, cols);
    return cudaDeviceSynchronize();
}
