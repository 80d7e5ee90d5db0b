// Lanes add to the row's sum in shared memory.
__global__ void multiply(const int *row_start, const int *columns, const float *values, const float *x, float *y, int rows) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    __shared__ float of_row[4];
    if (lane == 0) of_row[threadIdx.x / 32] = 0;
    __syncwarp();
    float sum = 0;
    for (int k = row_start[row] + lane; k < row_start[row + 1]; k += 32) {
        sum += values[k] * x[columns[k]];
    }
    atomicAdd(&of_row[threadIdx.x / 32], sum);
    __syncwarp();
    if (lane == 0) y[row] = of_row[threadIdx.x / 32];
}

void solve(const int *row_start, const int *columns, const float *values, const float *x, float *y, int rows, int cols,
           int nonzeros) {
    multiply<<<(rows + 3) / 4, 128>>>(row_start, columns, values, x, y, rows);
}
