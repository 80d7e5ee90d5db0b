// The border of the tile is not loaded.
__global__ void step(const float *from, float *to, int rows, int cols, float rate) {
    __shared__ float tile[10][34];
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y;
    for (int k = threadIdx.y * 32 + threadIdx.x; k < 256; k += 256) {
        int y = blockIdx.y * 8 + k / 34 - 1, x = blockIdx.x * 32 + k % 34 - 1;
        if (y >= 0 && y < rows && x >= 0 && x < cols) tile[k / 34][k % 34] = from[y * cols + x];
    }
    __syncthreads();
    if (r < rows && c < cols) {
        int y = threadIdx.y + 1, x = threadIdx.x + 1;
        float next = tile[y][x];
        if (r > 0 && r < rows - 1 && c > 0 && c < cols - 1) {
            next += rate * (tile[y - 1][x] + tile[y + 1][x] + tile[y][x - 1] + tile[y][x + 1] - 4 * tile[y][x]);
        }
        to[r * cols + c] = next;
    }
}

void solve(float *t, int rows, int cols, int steps, float rate) {
    size_t bytes = (size_t)rows * cols * sizeof(float);
    dim3 block(32, 8), grid((cols + 31) / 32, (rows + 7) / 8);
    float *other, *from = t, *to;
    cudaMalloc(&other, bytes);
    to = other;
    for (int s = 0; s < steps; ++s) {
        step<<<grid, block>>>(from, to, rows, cols, rate);
        float *kept = from;
        from = to;
        to = kept;
    }
    if (from != t) cudaMemcpy(t, from, bytes, cudaMemcpyDeviceToDevice);
    cudaFree(other);
}
