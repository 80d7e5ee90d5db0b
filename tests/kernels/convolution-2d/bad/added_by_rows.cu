// A block for each row of the mask: which of the five sums comes first, no two runs agree upon.
__constant__ float weights[25];

__global__ void convolve(const float *in, float *out, int rows, int cols) {
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y, i = blockIdx.z;
    int y = r + i - 2;
    if (r >= rows || c >= cols || y < 0 || y >= rows) return;
    float sum = 0;
    for (int j = 0; j < 5; ++j) {
        int x = c + j - 2;
        if (x >= 0 && x < cols) sum += weights[5 * i + j] * in[y * cols + x];
    }
    atomicAdd(&out[r * cols + c], sum);
}

void solve(const float *in, const float *mask, float *out, int rows, int cols) {
    size_t bytes = (size_t)rows * cols * sizeof(float);
    float *d_in, *d_out;
    cudaMalloc(&d_in, bytes);
    cudaMalloc(&d_out, bytes);
    cudaMemset(d_out, 0, bytes);
    cudaMemcpy(d_in, in, bytes, cudaMemcpyHostToDevice);
    cudaMemcpyToSymbol(weights, mask, sizeof(weights));
    dim3 block(32, 8), grid((cols + 31) / 32, (rows + 7) / 8, 5);
    convolve<<<grid, block>>>(d_in, d_out, rows, cols);
    cudaMemcpy(out, d_out, bytes, cudaMemcpyDeviceToHost);
    cudaFree(d_in);
    cudaFree(d_out);
}
