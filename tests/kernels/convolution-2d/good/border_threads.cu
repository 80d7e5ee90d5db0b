// A thread for each element of the tile, of which those inside the border make the result.
#define TX 32
#define TY 16
#define BX (TX - 4)
#define BY (TY - 4)

__constant__ float weights[5][5];

__global__ void convolve(const float *in, float *out, int rows, int cols) {
    __shared__ float tile[TY][TX];
    int c = blockIdx.x * BX + threadIdx.x - 2, r = blockIdx.y * BY + threadIdx.y - 2;
    tile[threadIdx.y][threadIdx.x] = r >= 0 && r < rows && c >= 0 && c < cols ? in[r * cols + c] : 0.0f;
    __syncthreads();
    bool is_inner = threadIdx.x >= 2 && threadIdx.x < TX - 2 && threadIdx.y >= 2 && threadIdx.y < TY - 2;
    if (is_inner && r < rows && c < cols) {
        float sum = 0;
        for (int i = 0; i < 5; ++i) {
            for (int j = 0; j < 5; ++j) sum += weights[i][j] * tile[threadIdx.y + i - 2][threadIdx.x + j - 2];
        }
        out[r * cols + c] = sum;
    }
}

void solve(const float *in, const float *mask, float *out, int rows, int cols) {
    size_t bytes = (size_t)rows * cols * sizeof(float);
    float *d_in, *d_out;
    cudaMalloc(&d_in, bytes);
    cudaMalloc(&d_out, bytes);
    cudaMemcpy(d_in, in, bytes, cudaMemcpyHostToDevice);
    cudaMemcpyToSymbol(weights, mask, sizeof(weights));
    dim3 block(TX, TY), grid((cols + BX - 1) / BX, (rows + BY - 1) / BY);
    convolve<<<grid, block>>>(d_in, d_out, rows, cols);
    cudaMemcpy(out, d_out, bytes, cudaMemcpyDeviceToHost);
    cudaFree(d_in);
    cudaFree(d_out);
}
