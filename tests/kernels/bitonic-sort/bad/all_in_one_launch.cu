// Several blocks do all steps in one launch: a barrier does not hold back other blocks.
#include <climits>

__global__ void pad(int *data, int n, int size) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n && i < size) data[i] = INT_MAX;
}

__device__ void step(int *data, int run, int distance) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, other = i ^ distance;
    if (other > i) {
        bool up = (i & run) == 0;
        if ((data[i] > data[other]) == up) {
            int kept = data[i];
            data[i] = data[other];
            data[other] = kept;
        }
    }
}

__global__ void all_steps(int *data, int size) {
    for (int run = 2; run <= size; run *= 2) {
        for (int distance = run / 2; distance > 0; distance /= 2) {
            step(data, run, distance);
            __syncthreads();
        }
    }
}

void solve(int *data, int n) {
    int size = 256;
    while (size < n) size *= 2;
    int *padded;
    cudaMalloc(&padded, size * sizeof(int));
    cudaMemcpy(padded, data, n * sizeof(int), cudaMemcpyDeviceToDevice);
    pad<<<size / 256, 256>>>(padded, n, size);
    all_steps<<<size / 256, 256>>>(padded, size);
    cudaMemcpy(data, padded, n * sizeof(int), cudaMemcpyDeviceToDevice);
    cudaFree(padded);
}
