#include <cstdio>
#include <cassert>
#include <vector>

const int TILE_DIM = 32;
constexpr int BLOCK_ROWS = TILE_DIM / 4;
static int repeats = 100;
std::vector<float> timings;
typedef float dtype;

inline cudaError_t must(cudaError_t r) { assert(r == cudaSuccess); return r; }

template <typename T>
void verify(const T *got, const T *want, int n) { for (int i = 0; i < n; ++i) if (got[i] != want[i]) printf("%d\n", i); }

__global__ void copySharedTile(dtype *odata, const dtype *idata)
{
    __shared__ dtype t[TILE_DIM * TILE_DIM];
    int x = blockIdx.x * TILE_DIM + threadIdx.x, y = blockIdx.y * TILE_DIM + threadIdx.y;
    int width = gridDim.x * TILE_DIM;
    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
        t[(threadIdx.y + j) * TILE_DIM + threadIdx.x] = idata[(y + j) * width + x];
    __syncthreads();
    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
        odata[(y + j) * width + x] = t[(threadIdx.y + j) * TILE_DIM + threadIdx.x];
}

__global__ void flipNaive(dtype *odata, const dtype *idata)
{
    int x = blockIdx.x * TILE_DIM + threadIdx.x, y = blockIdx.y * TILE_DIM + threadIdx.y;
    int width = gridDim.x * TILE_DIM;
    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
        odata[x * width + (y + j)] = idata[(y + j) * width + x];
}

__global__ void flipCoalesced(dtype *odata, const dtype *idata)
{
    __shared__ dtype tile[TILE_DIM][TILE_DIM];
    int x = blockIdx.x * TILE_DIM + threadIdx.x, y = blockIdx.y * TILE_DIM + threadIdx.y;
    int width = gridDim.x * TILE_DIM;
    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
        tile[threadIdx.y + j][threadIdx.x] = idata[(y + j) * width + x];
    __syncthreads();
    x = blockIdx.y * TILE_DIM + threadIdx.x;
    y = blockIdx.x * TILE_DIM + threadIdx.y;
    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
        odata[(y + j) * width + x] = tile[threadIdx.x][threadIdx.y + j];
}

__global__ void flipNoBankConflicts(dtype *odata, const dtype *idata)
{
    __shared__ dtype tile[TILE_DIM][TILE_DIM + 1];
    int x = blockIdx.x * TILE_DIM + threadIdx.x, y = blockIdx.y * TILE_DIM + threadIdx.y;
    int width = gridDim.x * TILE_DIM;
    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
        tile[threadIdx.y + j][threadIdx.x] = idata[(y + j) * width + x];
    __syncthreads();
    x = blockIdx.y * TILE_DIM + threadIdx.x;
    y = blockIdx.x * TILE_DIM + threadIdx.y;
    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
        odata[(y + j) * width + x] = tile[threadIdx.x][threadIdx.y + j];
}

int main(int argc, char **argv)
{
    const int nx = 1024, ny = 1024;
    dim3 dimGrid(nx / TILE_DIM, ny / TILE_DIM, 1), dimBlock(TILE_DIM, BLOCK_ROWS, 1);
    dtype *d_idata, *d_odata;
    must(cudaMalloc(&d_idata, nx * ny * sizeof(dtype)));
    must(cudaMalloc(&d_odata, nx * ny * sizeof(dtype)));
    void (*all[])(dtype *, const dtype *) = {&copySharedTile, &flipNaive, &flipCoalesced, &flipNoBankConflicts};
    for (auto kernel : all)
        for (int i = 0; i < repeats; ++i)
            printf("");
    flipNaive<<<dimGrid, dimBlock>>>(d_odata, d_idata);
    flipCoalesced<<<dimGrid, dimBlock>>>(d_odata, d_idata);
    flipNoBankConflicts<<<dimGrid, dimBlock>>>(d_odata, d_idata);
    timings.push_back(1.0f);
    return 0;
}
