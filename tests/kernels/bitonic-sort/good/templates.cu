// Kernels made for their block; the padding is a copy, so the numbers of the caller are written once.
#include <climits>

__global__ void fill(const int *data, int *copy, int n, int padded) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < padded) copy[i] = i < n ? data[i] : INT_MAX;
}

template <int THREADS>
__global__ void exchange(int *a, int size, int distance, int pairs) {
    int pair = blockIdx.x * THREADS + threadIdx.x;
    if (pair >= pairs) return;
    int low = 2 * pair - (pair & (distance - 1)), high = low + distance;
    bool ascending = (low & size) == 0;
    int p = a[low], q = a[high];
    if ((p > q) == ascending) {
        a[low] = q;
        a[high] = p;
    }
}

extern "C" void solve(int *data, int n) {
    int padded = 2;
    while (padded < n) padded <<= 1;
    int *copy;
    cudaMalloc(&copy, padded * sizeof(int));
    fill<<<(padded + 255) / 256, 256>>>(data, copy, n, padded);
    for (int size = 2; size <= padded; size <<= 1) {
        for (int distance = size >> 1; distance; distance >>= 1) {
            exchange<128><<<(padded / 2 + 127) / 128, 128>>>(copy, size, distance, padded / 2);
        }
    }
    cudaMemcpy(data, copy, n * sizeof(int), cudaMemcpyDeviceToDevice);
    cudaFree(copy);
}
