// Weights in constant memory, which a warp reads at one address at a time; a tile with its halo in shared memory.  Each
// thread computes four rows of four neighbours: a row of the tile is read once for all of them.
#define MASK 5
#define RADIUS (MASK / 2)
#define ITEMS 4 // rows of a thread, and columns
#define THREAD_COLS 32
#define THREAD_ROWS 8
#define WIDTH (THREAD_COLS * ITEMS)
#define HEIGHT (THREAD_ROWS * ITEMS)
#define TILE_ROWS (HEIGHT + 2 * RADIUS)
#define LEFT 4 // columns of the tile before the block's own: its rows begin where the device reads 16 bytes at once
#define TILE_COLS (WIDTH + 2 * LEFT)

__constant__ float weights[MASK][MASK];

__global__ void convolve(const float *__restrict__ in, float *__restrict__ out, int rows, int cols) {
    __shared__ __align__(16) float tile[TILE_ROWS][TILE_COLS];
    const int first_row = blockIdx.y * HEIGHT, first_col = blockIdx.x * WIDTH;
    for (int i = threadIdx.y * THREAD_COLS + threadIdx.x; i < TILE_ROWS * TILE_COLS / 4; i += THREAD_ROWS * THREAD_COLS) {
        const int y = i / (TILE_COLS / 4), x = i % (TILE_COLS / 4) * 4;
        const int r = first_row + y - RADIUS, c = first_col + x - LEFT;
        const bool is_row = r >= 0 && r < rows;
        const float *const from = in + (ptrdiff_t)r * cols + c;
        float4 four = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        if (cols % 4 == 0) {
            if (is_row && c >= 0 && c < cols) four = *reinterpret_cast<const float4 *>(from);
        } else if (is_row) {
            if (c >= 0 && c < cols) four.x = from[0];
            if (c + 1 >= 0 && c + 1 < cols) four.y = from[1];
            if (c + 2 >= 0 && c + 2 < cols) four.z = from[2];
            if (c + 3 >= 0 && c + 3 < cols) four.w = from[3];
        }
        *reinterpret_cast<float4 *>(&tile[y][x]) = four;
    }
    __syncthreads();

    float sums[ITEMS][ITEMS] = {};
    const int top = threadIdx.y * ITEMS, left = threadIdx.x * ITEMS;
#pragma unroll
    for (int y = 0; y < ITEMS + 2 * RADIUS; ++y) {
        float row[ITEMS + 2 * RADIUS];
#pragma unroll
        for (int x = 0; x < ITEMS + 2 * RADIUS; x += 2) {
            const float2 two = *reinterpret_cast<const float2 *>(&tile[top + y][left + LEFT - RADIUS + x]);
            row[x] = two.x, row[x + 1] = two.y;
        }
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
            const int i = y - k;
            if (i < 0 || i >= MASK) continue;
#pragma unroll
            for (int x = 0; x < ITEMS; ++x) {
#pragma unroll
                for (int j = 0; j < MASK; ++j) sums[k][x] += weights[i][j] * row[x + j];
            }
        }
    }

    const int c = first_col + left;
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
        const int r = first_row + top + k;
        if (r >= rows) break;
        float *const to = out + (size_t)r * cols + c;
        if (cols % ITEMS == 0 && c < cols) {
            *reinterpret_cast<float4 *>(to) = make_float4(sums[k][0], sums[k][1], sums[k][2], sums[k][3]);
        } else {
#pragma unroll
            for (int x = 0; x < ITEMS; ++x) {
                if (c + x < cols) to[x] = sums[k][x];
            }
        }
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
    convolve<<<grid, dim3(THREAD_COLS, THREAD_ROWS)>>>(d_in, d_out, rows, cols);
    cudaMemcpy(out, d_out, bytes, cudaMemcpyDeviceToHost);
    cudaFree(d_in);
    cudaFree(d_out);
}
