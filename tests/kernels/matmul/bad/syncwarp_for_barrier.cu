// __syncwarp() where the whole block has to wait.
#define TILE_DIM 16
__global__ void coalescedMultiply(float *a, float *b, float *c, int N)
{
    __shared__ float aTile[TILE_DIM][TILE_DIM], bTile[TILE_DIM][TILE_DIM];
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int t = 0; t < N / TILE_DIM; ++t) {
        aTile[threadIdx.y][threadIdx.x] = a[row * N + t * TILE_DIM + threadIdx.x];
        bTile[threadIdx.y][threadIdx.x] = b[(t * TILE_DIM + threadIdx.y) * N + col];
        __syncthreads();
        for (int i = 0; i < TILE_DIM; i++) sum += aTile[threadIdx.y][i] * bTile[i][threadIdx.x];
        __syncwarp();
    }
    if (row < N && col < N) c[row * N + col] = sum;
}
