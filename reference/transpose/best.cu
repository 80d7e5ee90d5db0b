// Near what the memory can do: tiles of 64×64 elements, 16 bytes a thread on both sides of global memory, two loads of
// a thread in flight.  Neighbouring blocks lie below each other, so that what they write lies side by side.
#define TILE 64
#define THREADS 512

// rows and cols are multiples of TILE; the grid has one row of blocks a tile of columns: grid.x covers the rows.
__global__ void __launch_bounds__(THREADS) transpose_best(const float *in, float *out, int rows, int cols)
{
    // A column more than is used: neither rows nor columns of the tile share a bank more than two ways.
    __shared__ float tile[TILE][TILE + 1];
    constexpr int QUADS = TILE / 4;               // of a row of the tile
    constexpr int STEPS = TILE * QUADS / THREADS; // quads of a thread

    const size_t row0 = (size_t)blockIdx.x * TILE;
    const size_t col0 = (size_t)blockIdx.y * TILE;
    float4 part[STEPS];
#pragma unroll
    for (int s = 0; s < STEPS; ++s) {
        const int i = threadIdx.x + s * THREADS;
        part[s] = __ldg((const float4 *)(in + (row0 + i / QUADS) * cols + col0) + i % QUADS);
    }
#pragma unroll
    for (int s = 0; s < STEPS; ++s) {
        const int i = threadIdx.x + s * THREADS;
        float *to = &tile[i / QUADS][i % QUADS * 4];
        to[0] = part[s].x;
        to[1] = part[s].y;
        to[2] = part[s].z;
        to[3] = part[s].w;
    }
    __syncthreads();

#pragma unroll
    for (int s = 0; s < STEPS; ++s) {
        const int i = threadIdx.x + s * THREADS;
        const int col = i / QUADS, row = i % QUADS * 4;
        const float4 turned = make_float4(tile[row][col], tile[row + 1][col], tile[row + 2][col], tile[row + 3][col]);
        ((float4 *)(out + (col0 + col) * rows + row0))[i % QUADS] = turned;
    }
}
