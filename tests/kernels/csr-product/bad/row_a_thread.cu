// A thread for each row: neighbouring threads read far apart.
__global__ void multiply(const int *row_start, const int *columns, const float *values, const float *x, float *y, int rows) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float sum = 0;
        for (int k = row_start[row]; k < row_start[row + 1]; ++k) {
            sum += values[k] * x[columns[k]];
        }
        y[row] = sum;
    }
}

void solve(const int *row_start, const int *columns, const float *values, const float *x, float *y, int rows, int cols,
           int nonzeros) {
    multiply<<<(rows + 127) / 128, 128>>>(row_start, columns, values, x, y, rows);
}
