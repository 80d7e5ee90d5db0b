// Cooperative groups: tiles of 16 threads share a row.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__global__ void multiply(const int *row_start, const int *columns, const float *values, const float *x, float *y, int rows) {
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 16, lane = tile.thread_rank();
    if (row >= rows) return;
    float sum = 0;
    for (int k = row_start[row] + lane; k < row_start[row + 1]; k += 16) {
        sum += values[k] * x[columns[k]];
    }
    for (int d = 8; d > 0; d /= 2) sum += tile.shfl_down(sum, d);
    if (lane == 0) y[row] = sum;
}

void solve(const int *row_start, const int *columns, const float *values, const float *x, float *y, int rows, int cols,
           int nonzeros) {
    multiply<<<(rows + 7) / 8, 128>>>(row_start, columns, values, x, y, rows);
}
