// The tile has half as many elements as the block has threads.
#include <climits>

#define TILE 256

__device__ void exchange(int &a, int &b, bool up) {
    if ((a > b) == up) {
        int kept = a;
        a = b;
        b = kept;
    }
}

// The tile has half as many elements as the block has threads.
__global__ void in_tiles(int *data, int n, int from, int to) {
    __shared__ int s[TILE / 2];
    int i = blockIdx.x * TILE + threadIdx.x;
    s[threadIdx.x] = i < n ? data[i] : INT_MAX;
    __syncthreads();
    for (int run = from; run <= to; run *= 2) {
        for (int distance = min(run, TILE) / 2; distance > 0; distance /= 2) {
            int other = threadIdx.x ^ distance;
            if (other > threadIdx.x) exchange(s[threadIdx.x], s[other], (i & run) == 0);
            __syncthreads();
        }
    }
    data[i] = s[threadIdx.x];
}

__global__ void step(int *data, int run, int distance) {
    int i = blockIdx.x * TILE + threadIdx.x, other = i ^ distance;
    if (other > i) exchange(data[i], data[other], (i & run) == 0);
}

void solve(int *data, int n) {
    int size = TILE;
    while (size < n) size *= 2;
    int *padded;
    cudaMalloc(&padded, size * sizeof(int));
    cudaMemcpy(padded, data, n * sizeof(int), cudaMemcpyDeviceToDevice);
    in_tiles<<<size / TILE, TILE>>>(padded, n, 2, TILE);
    for (int run = 2 * TILE; run <= size; run *= 2) {
        for (int distance = run / 2; distance >= TILE; distance /= 2) {
            step<<<size / TILE, TILE>>>(padded, run, distance);
        }
        in_tiles<<<size / TILE, TILE>>>(padded, size, run, run);
    }
    cudaMemcpy(data, padded, n * sizeof(int), cudaMemcpyDeviceToDevice);
    cudaFree(padded);
}
