// A block for each row, which adds up by a tree.
__global__ void multiply(const int *row_start, const int *columns, const float *values, const float *x, float *y, int rows) {
    __shared__ float part[64];
    int row = blockIdx.x;
    float sum = 0;
    for (int k = row_start[row] + threadIdx.x; k < row_start[row + 1]; k += 64) sum += values[k] * x[columns[k]];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int d = 32; d > 0; d /= 2) {
        if (threadIdx.x < d) part[threadIdx.x] += part[threadIdx.x + d];
        __syncthreads();
    }
    if (threadIdx.x == 0) y[row] = part[0];
}

void solve(const int *row_start, const int *columns, const float *values, const float *x, float *y, int rows, int cols,
           int nonzeros) {
    multiply<<<rows, 64>>>(row_start, columns, values, x, y, rows);
}
