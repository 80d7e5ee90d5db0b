// A tile with its border in shared memory, the mask in constant memory; each thread makes four elements of a column from
// values that it keeps in registers.
#define RADIUS 2
#define MASK (2 * RADIUS + 1)
#define WIDTH 32
#define THREAD_ROWS 4
#define ITEMS 4
#define HEIGHT (THREAD_ROWS * ITEMS)

__constant__ float weights[MASK][MASK];

__global__ void convolve(const float *__restrict__ in, float *__restrict__ out, int rows, int cols) {
    __shared__ float tile[HEIGHT + 2 * RADIUS][WIDTH + 2 * RADIUS];
    const int first_row = blockIdx.y * HEIGHT, first_col = blockIdx.x * WIDTH;

    for (int y = threadIdx.y; y < HEIGHT + 2 * RADIUS; y += THREAD_ROWS) {
        for (int x = threadIdx.x; x < WIDTH + 2 * RADIUS; x += WIDTH) {
            const int r = first_row + y - RADIUS, c = first_col + x - RADIUS;
            const bool is_inside = r >= 0 && r < rows && c >= 0 && c < cols;
            tile[y][x] = is_inside ? in[(size_t)r * cols + c] : 0.0f;
        }
    }
    __syncthreads();

    float sums[ITEMS] = {};
    const int top = threadIdx.y * ITEMS;
#pragma unroll
    for (int j = 0; j < MASK; ++j) {
        float column[ITEMS + 2 * RADIUS];
#pragma unroll
        for (int y = 0; y < ITEMS + 2 * RADIUS; ++y) column[y] = tile[top + y][threadIdx.x + j];
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
#pragma unroll
            for (int i = 0; i < MASK; ++i) sums[k] += weights[i][j] * column[k + i];
        }
    }

    const int c = first_col + threadIdx.x;
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
        const int r = first_row + top + k;
        if (r < rows && c < cols) out[(size_t)r * cols + c] = sums[k];
    }
}

void solve(const float *in, const float *mask, float *out, int rows, int cols) {
    const size_t bytes = (size_t)rows * cols * sizeof(float);
    float *d_in, *d_out;
    cudaMalloc(&d_in, bytes);
    cudaMalloc(&d_out, bytes);
    cudaMemcpy(d_in, in, bytes, cudaMemcpyHostToDevice);
    cudaMemcpyToSymbol(weights, mask, sizeof(weights));
    const dim3 grid((cols + WIDTH - 1) / WIDTH, (rows + HEIGHT - 1) / HEIGHT);
    convolve<<<grid, dim3(WIDTH, THREAD_ROWS)>>>(d_in, d_out, rows, cols);
    cudaMemcpy(out, d_out, bytes, cudaMemcpyDeviceToHost);
    cudaFree(d_in);
    cudaFree(d_out);
}
