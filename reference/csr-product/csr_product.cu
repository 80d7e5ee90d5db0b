// Sixteen lanes a row: many rows are shorter than a warp.  Lanes of a long one go on in steps of sixteen.
#define LANES 16
#define THREADS 128

__global__ void multiply(const int *__restrict__ row_start, const int *__restrict__ columns, const float *__restrict__ values,
                         const float *__restrict__ x, float *__restrict__ y, int rows) {
    const int lane = threadIdx.x % LANES;
    const int step = gridDim.x * (THREADS / LANES);
    for (int first = blockIdx.x * (THREADS / LANES); first < rows; first += step) {
        const int row = first + threadIdx.x / LANES;
        float sum = 0.0f;
        if (row < rows) {
            const int end = row_start[row + 1];
            for (int k = row_start[row] + lane; k < end; k += LANES) sum += values[k] * x[columns[k]];
        }
        for (int d = LANES / 2; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d, LANES);
        if (lane == 0 && row < rows) y[row] = sum;
    }
}

void solve(const int *row_start, const int *columns, const float *values, const float *x, float *y, int rows, int cols,
           int nonzeros) {
    const int blocks = min((rows + THREADS / LANES - 1) / (THREADS / LANES), 4096);
    multiply<<<blocks, THREADS>>>(row_start, columns, values, x, y, rows);
}
