// Compares by the sign of a difference, which overflows.
#include <climits>

__global__ void pad(int *data, int n, int size) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n && i < size) data[i] = INT_MAX;
}

__global__ void step(int *data, int run, int distance) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, other = i ^ distance;
    if (other > i) {
        bool up = (i & run) == 0;
        if (((int)((unsigned)data[i] - (unsigned)data[other]) > 0) == up) {
            int kept = data[i];
            data[i] = data[other];
            data[other] = kept;
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
    for (int run = 2; run <= size; run *= 2) {
        for (int distance = run / 2; distance > 0; distance /= 2) {
            step<<<size / 256, 256>>>(padded, run, distance);
        }
    }
    cudaMemcpy(data, padded, n * sizeof(int), cudaMemcpyDeviceToDevice);
    cudaFree(padded);
}
