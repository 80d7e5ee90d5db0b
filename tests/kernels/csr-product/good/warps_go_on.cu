// A bounded grid, whose warps go on with further rows.
__global__ void multiply(const int *row_start, const int *columns, const float *values, const float *x, float *y, int rows) {
    int lane = threadIdx.x % 32, warps = gridDim.x * blockDim.x / 32;
    for (int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32; row < rows; row += warps) {
        float sum = 0;
        for (int k = row_start[row] + lane; k < row_start[row + 1]; k += 32) {
            sum += values[k] * x[columns[k]];
        }
        for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
        if (lane == 0) y[row] = sum;
    }
}

void solve(const int *row_start, const int *columns, const float *values, const float *x, float *y, int rows, int cols,
           int nonzeros) {
    multiply<<<min((rows + 3) / 4, 16), 128>>>(row_start, columns, values, x, y, rows);
}
