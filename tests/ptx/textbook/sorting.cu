// Ascending order of each block's 128 elements.

//// bitonic
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int s[128];
    int t = threadIdx.x, base = blockIdx.x * 128;
    s[t] = in[base + t];
    __syncthreads();
    for (int size = 2; size <= 128; size *= 2)
        for (int stride = size / 2; stride > 0; stride /= 2) {
            int other = t ^ stride;
            if (other > t && ((t & size) == 0) == (s[t] > s[other])) {
                int swapped = s[t];
                s[t] = s[other];
                s[other] = swapped;
            }
            __syncthreads();
        }
    out[base + t] = s[t];
}

//// odd_even_transposition
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int s[128];
    int t = threadIdx.x, base = blockIdx.x * 128;
    s[t] = in[base + t];
    __syncthreads();
    for (int round = 0; round < 128; ++round) {
        if (t % 2 == round % 2 && t + 1 < 128 && s[t] > s[t + 1]) {
            int swapped = s[t];
            s[t] = s[t + 1];
            s[t + 1] = swapped;
        }
        __syncthreads();
    }
    out[base + t] = s[t];
}

//// rank_sort
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int s[128], sorted[128];
    int t = threadIdx.x, base = blockIdx.x * 128, rank = 0;
    s[t] = in[base + t];
    __syncthreads();
    for (int i = 0; i < 128; ++i) rank += s[i] < s[t] || (s[i] == s[t] && i < t);
    sorted[rank] = s[t];
    __syncthreads();
    out[base + t] = sorted[t];
}

//// radix_by_bits
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int s[128], ones[128];
    int t = threadIdx.x, base = blockIdx.x * 128;
    s[t] = in[base + t];
    for (int bit = 0; bit < 10; ++bit) {
        __syncthreads();
        int key = s[t], b = key >> bit & 1;
        ones[t] = b;
        __syncthreads();
        for (int stride = 1; stride < 128; stride *= 2) {
            int v = t >= stride ? ones[t - stride] : 0;
            __syncthreads();
            ones[t] += v;
            __syncthreads();
        }
        int before = ones[t] - b, zeros = 128 - ones[127];
        s[b ? zeros + before : t - before] = key;
    }
    __syncthreads();
    out[base + t] = s[t];
}

//// merge_by_ranks
__device__ int below(const int* s, int size, int value, bool or_equal) {
    int low = 0, high = size;
    while (low < high) {
        int middle = (low + high) / 2;
        if (s[middle] < value || (or_equal && s[middle] == value)) low = middle + 1; else high = middle;
    }
    return low;
}
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int a[128], b[128];
    int *from = a, *to = b;
    int t = threadIdx.x, base = blockIdx.x * 128;
    from[t] = in[base + t];
    __syncthreads();
    for (int width = 1; width < 128; width *= 2) {
        int run = t / width, inside = t % width, sibling = (run ^ 1) * width, start = (run & ~1) * width;
        int rank = inside + below(from + sibling, width, from[t], run & 1);
        to[start + rank] = from[t];
        __syncthreads();
        int* swapped = from;
        from = to;
        to = swapped;
    }
    out[base + t] = from[t];
}
