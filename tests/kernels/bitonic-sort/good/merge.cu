// Runs are merged: every element finds its place by a binary search in the other run.
__device__ int below(const int *run, int count, int value, bool or_equal) {
    int low = 0;
    while (low < count) {
        int middle = (low + count) / 2;
        if (run[middle] < value || (or_equal && run[middle] == value)) low = middle + 1;
        else count = middle;
    }
    return low;
}

__global__ void merge(const int *from, int *to, int n, int width) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int first = i / (2 * width) * 2 * width, second = min(first + width, n), end = min(second + width, n);
    bool is_left = i < second;
    int before = is_left ? below(from + second, end - second, from[i], false) : below(from + first, second - first, from[i], true);
    to[first + (is_left ? i - first : i - second) + before] = from[i];
}

void solve(int *data, int n) {
    int *other, *from = data, *to;
    cudaMalloc(&other, n * sizeof(int));
    to = other;
    for (int width = 1; width < n || width == 1; width *= 2) {
        merge<<<(n + 255) / 256, 256>>>(from, to, n, width);
        int *kept = from;
        from = to;
        to = kept;
    }
    if (from != data) cudaMemcpy(data, other, n * sizeof(int), cudaMemcpyDeviceToDevice);
    cudaFree(other);
}
