// Tiles of A and B meet in shared memory: every element is read n / TILE times instead of n times.
#define TILE 16

__global__ void matmul_block(const float *a, const float *b, float *c, int n)
{
    __shared__ float tile_a[TILE][TILE];
    __shared__ float tile_b[TILE][TILE];

    const int col = blockIdx.x * TILE + threadIdx.x;
    const int row = blockIdx.y * TILE + threadIdx.y;
    float sum = 0;
    for (int first = 0; first < n; first += TILE) {
        const int k_a = first + threadIdx.x;
        const int k_b = first + threadIdx.y;
        tile_a[threadIdx.y][threadIdx.x] = row < n && k_a < n ? a[row * n + k_a] : 0.0f;
        tile_b[threadIdx.y][threadIdx.x] = k_b < n && col < n ? b[k_b * n + col] : 0.0f;
        __syncthreads(); // both tiles are there

        for (int k = 0; k < TILE; ++k)
            sum += tile_a[threadIdx.y][k] * tile_b[k][threadIdx.x];
        __syncthreads(); // and may be overwritten
    }
    if (row < n && col < n)
        c[row * n + col] = sum;
}
