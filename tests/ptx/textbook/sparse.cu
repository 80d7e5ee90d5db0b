// A sparse 200 × 200 matrix times a vector: arguments are row starts, columns, values, x, y, rows.

//// csr_one_thread_a_row
extern "C" __global__ void k(const int* starts, const int* columns, const int* values, const int* x, int* y, int n) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < n) {
        int sum = 0;
        for (int j = starts[row]; j < starts[row + 1]; ++j) sum += values[j] * x[columns[j]];
        y[row] = sum;
    }
}

//// csr_one_warp_a_row
extern "C" __global__ void k(const int* starts, const int* columns, const int* values, const int* x, int* y, int n) {
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    for (int row = warp; row < n; row += gridDim.x * blockDim.x / 32) {
        int sum = 0;
        for (int j = starts[row] + lane; j < starts[row + 1]; j += 32) sum += values[j] * x[columns[j]];
        for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);
        if (lane == 0) y[row] = sum;
    }
}

//// csr_one_warp_a_row_in_shared_memory
extern "C" __global__ void k(const int* starts, const int* columns, const int* values, const int* x, int* y, int n) {
    __shared__ int s[128];
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32, t = threadIdx.x;
    for (int row = warp; row < n; row += gridDim.x * blockDim.x / 32) {
        int sum = 0;
        for (int j = starts[row] + lane; j < starts[row + 1]; j += 32) sum += values[j] * x[columns[j]];
        s[t] = sum;
        __syncwarp();
        for (int d = 16; d > 0; d /= 2) {
            if (lane < d) s[t] += s[t + d];
            __syncwarp();
        }
        if (lane == 0) y[row] = s[t];
    }
}

//// csr_atomics_by_entry
extern "C" __global__ void k(const int* starts, const int* columns, const int* values, const int* x, int* y, int n) {
    for (int j = blockIdx.x * blockDim.x + threadIdx.x; j < starts[n]; j += gridDim.x * blockDim.x) {
        int low = 0, high = n;
        while (high - low > 1) {
            int middle = (low + high) / 2;
            if (starts[middle] <= j) low = middle; else high = middle;
        }
        atomicAdd(&y[low], values[j] * x[columns[j]]);
    }
}

//// breadth_first_level
extern "C" __global__ void k(const int* starts, const int* columns, const int* values, const int* x, int* y, int n) {
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node < n && x[node] > 500)
        for (int j = starts[node]; j < starts[node + 1]; ++j) atomicMax(&y[columns[j]], x[node]);
}
