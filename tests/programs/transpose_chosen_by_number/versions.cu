// ./versions [kernel 0-4] [block x] [block y] [nx] [ny]: one version a run, under the profiler.
#include "../common/common.h"

#define SIDE 32

typedef void (*Version)(float *, float *, const int, const int);

__global__ void copyRow(float *out, float *in, const int nx, const int ny)
{
    unsigned int ix = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int iy = blockIdx.y * blockDim.y + threadIdx.y;
    if (ix < nx && iy < ny) out[iy * nx + ix] = in[iy * nx + ix];
}

__global__ void byRow(float *out, float *in, const int nx, const int ny)
{
    unsigned int ix = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int iy = blockIdx.y * blockDim.y + threadIdx.y;
    if (ix < nx && iy < ny) out[ix * ny + iy] = in[iy * nx + ix];
}

// two elements a thread, so half as many blocks along x
__global__ void byRowTwice(float *out, float *in, const int nx, const int ny)
{
    unsigned int ix = 2 * blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int iy = blockIdx.y * blockDim.y + threadIdx.y;
    if (iy >= ny) return;
    if (ix < nx) out[ix * ny + iy] = in[iy * nx + ix];
    if (ix + blockDim.x < nx) out[(ix + blockDim.x) * ny + iy] = in[iy * nx + ix + blockDim.x];
}

__global__ void throughTile(float *out, float *in, const int nx, const int ny)
{
    __shared__ float tile[SIDE][SIDE];
    unsigned int x = blockIdx.x * SIDE + threadIdx.x, y = blockIdx.y * SIDE + threadIdx.y;
    if (x < nx && y < ny) tile[threadIdx.y][threadIdx.x] = in[y * nx + x];
    __syncthreads();
    x = blockIdx.y * SIDE + threadIdx.x;
    y = blockIdx.x * SIDE + threadIdx.y;
    if (x < ny && y < nx) out[y * ny + x] = tile[threadIdx.x][threadIdx.y];
}

__global__ void throughPadded(float *out, float *in, const int nx, const int ny)
{
    __shared__ float tile[SIDE][SIDE + 1];
    unsigned int x = blockIdx.x * SIDE + threadIdx.x, y = blockIdx.y * SIDE + threadIdx.y;
    if (x < nx && y < ny) tile[threadIdx.y][threadIdx.x] = in[y * nx + x];
    __syncthreads();
    x = blockIdx.y * SIDE + threadIdx.x;
    y = blockIdx.x * SIDE + threadIdx.y;
    if (x < ny && y < nx) out[y * ny + x] = tile[threadIdx.x][threadIdx.y];
}

int main(int argc, char **argv)
{
    int nx = 1 << 10, ny = 1 << 9, number = 0, bx = SIDE, by = SIDE;
    if (argc > 1) number = atoi(argv[1]);
    if (argc > 2) bx = atoi(argv[2]);
    if (argc > 3) by = atoi(argv[3]);
    if (argc > 4) nx = atoi(argv[4]);
    if (argc > 5) ny = atoi(argv[5]);
    const size_t bytes = sizeof(float) * nx * ny;
    float *in = (float *)malloc(bytes), *out = (float *)malloc(bytes), *d_in, *d_out;
    for (int i = 0; i < nx * ny; i++) in[i] = (float)(rand() & 0xff);
    CHECK(cudaMalloc((float **)&d_in, bytes));
    CHECK(cudaMalloc((float **)&d_out, bytes));
    CHECK(cudaMemcpy(d_in, in, bytes, cudaMemcpyHostToDevice));

    dim3 block(bx, by);
    dim3 grid((nx + block.x - 1) / block.x, (ny + block.y - 1) / block.y);
    Version version;
    switch (number) {
    case 0:
        version = &copyRow;
        break;
    case 1:
        version = &byRow;
        break;
    case 2:
        version = &byRowTwice;
        grid.x = (nx + 2 * block.x - 1) / (2 * block.x);
        break;
    case 3:
        version = &throughTile;
        break;
    case 4:
        version = &throughPadded;
        break;
    default:
        printf("no such kernel\n");
        return 1;
    }
    double start = seconds();
    version<<<grid, block>>>(d_out, d_in, nx, ny);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaGetLastError());
    double elapsed = seconds() - start;

    CHECK(cudaMemcpy(out, d_out, bytes, cudaMemcpyDeviceToHost));
    int wrong = 0;
    for (int y = 0; y < ny; y++)
        for (int x = 0; x < nx; x++) wrong += number ? out[x * ny + y] != in[y * nx + x] : out[y * nx + x] != in[y * nx + x];
    printf("kernel %d, <<<(%d, %d), (%d, %d)>>>: %d wrong%s\n", number, grid.x, grid.y, block.x, block.y, wrong,
           elapsed < 0 ? ", and time went back" : "");
    CHECK(cudaFree(d_in));
    CHECK(cudaFree(d_out));
    free(in);
    free(out);
    return 0;
}
