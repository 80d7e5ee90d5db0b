// All comparisons the same way, so that no padding is needed.
__device__ void order(int *data, int low, int high, int n) {
    if (high < n && data[low] > data[high]) {
        int kept = data[low];
        data[low] = data[high];
        data[high] = kept;
    }
}

__global__ void flip(int *data, int n, int run) {
    int pair = blockIdx.x * blockDim.x + threadIdx.x, half = run / 2;
    int begin = pair / half * run, k = pair % half;
    order(data, begin + k, begin + run - 1 - k, n);
}

__global__ void halve(int *data, int n, int distance) {
    int pair = blockIdx.x * blockDim.x + threadIdx.x;
    int low = 2 * pair - pair % distance;
    order(data, low, low + distance, n);
}

extern "C" void solve(int *data, int n) {
    for (int run = 2; run / 2 < n; run *= 2) {
        int pairs = (n + run - 1) / run * (run / 2);
        int blocks = (pairs + 127) / 128;
        flip<<<blocks, 128>>>(data, n, run);
        for (int distance = run / 4; distance > 0; distance /= 2) halve<<<blocks, 128>>>(data, n, distance);
    }
    if (n == 1) flip<<<1, 32>>>(data, n, 2);
}
