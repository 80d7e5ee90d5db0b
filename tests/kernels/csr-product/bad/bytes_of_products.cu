// Allocates as many bytes as there are elements.
__global__ void products(const int *columns, const float *values, const float *x, float *product, int nonzeros) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < nonzeros) product[k] = values[k] * x[columns[k]];
}

__global__ void add_up(const int *row_start, const float *product, float *y, int rows) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 16, lane = threadIdx.x % 16;
    float sum = 0;
    if (row < rows) {
        for (int k = row_start[row] + lane; k < row_start[row + 1]; k += 16) sum += product[k];
    }
    for (int d = 8; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffff, sum, d);
    if (row < rows && lane == 0) y[row] = sum;
}

void solve(const int *row_start, const int *columns, const float *values, const float *x, float *y, int rows, int cols,
           int nonzeros) {
    float *product;
    cudaMalloc(&product, nonzeros);
    products<<<(nonzeros + 255) / 256, 256>>>(columns, values, x, product, nonzeros);
    add_up<<<(rows + 7) / 8, 128>>>(row_start, product, y, rows);
    cudaFree(product);
}
