// Inclusive and exclusive prefix sums of blocks of 128 (256 where a thread takes two).

//// hillis_steele_in_place
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int s[128];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t] = in[i];
    for (int stride = 1; stride < blockDim.x; stride *= 2) {
        __syncthreads();
        int v = 0;
        if (t >= stride) v = s[t - stride];
        __syncthreads();
        s[t] += v;
    }
    out[i] = s[t];
}

//// hillis_steele_double_buffered
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int s[2][128];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t, from = 0;
    s[0][t] = in[i];
    __syncthreads();
    for (int stride = 1; stride < 128; stride *= 2) {
        s[1 - from][t] = t >= stride ? s[from][t] + s[from][t - stride] : s[from][t];
        from = 1 - from;
        __syncthreads();
    }
    out[i] = s[from][t];
}

//// brent_kung
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int s[128];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t] = in[i];
    for (int stride = 1; stride < 128; stride *= 2) {
        __syncthreads();
        int index = (t + 1) * 2 * stride - 1;
        if (index < 128) s[index] += s[index - stride];
    }
    for (int stride = 32; stride > 0; stride /= 2) {
        __syncthreads();
        int index = (t + 1) * 2 * stride - 1;
        if (index + stride < 128) s[index + stride] += s[index];
    }
    __syncthreads();
    out[i] = s[t];
}

//// blelloch_exclusive
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int temp[128];
    int t = threadIdx.x, base = blockIdx.x * 128, offset = 1;
    if (t < 64) {
        temp[2 * t] = in[base + 2 * t];
        temp[2 * t + 1] = in[base + 2 * t + 1];
    }
    for (int d = 64; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) {
            int ai = offset * (2 * t + 1) - 1, bi = offset * (2 * t + 2) - 1;
            temp[bi] += temp[ai];
        }
        offset *= 2;
    }
    if (t == 0) temp[127] = 0;
    for (int d = 1; d < 128; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            int ai = offset * (2 * t + 1) - 1, bi = offset * (2 * t + 2) - 1;
            int v = temp[ai];
            temp[ai] = temp[bi];
            temp[bi] += v;
        }
    }
    __syncthreads();
    out[base + t] = temp[t] + in[base + t];
}

//// warp_shuffles
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int sums[4];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t, lane = t & 31, warp = t >> 5;
    int v = in[i];
    for (int d = 1; d < 32; d *= 2) {
        int u = __shfl_up_sync(0xffffffffu, v, d);
        if (lane >= d) v += u;
    }
    if (lane == 31) sums[warp] = v;
    __syncthreads();
    if (warp == 0) {
        int s = lane < 4 ? sums[lane] : 0;
        for (int d = 1; d < 4; d *= 2) {
            int u = __shfl_up_sync(0xffffffffu, s, d);
            if (lane >= d) s += u;
        }
        if (lane < 4) sums[lane] = s;
    }
    __syncthreads();
    out[i] = v + (warp > 0 ? sums[warp - 1] : 0);
}

//// blocks_handed_on
__device__ int carried[16];
__device__ unsigned ready[16];
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int s[128];
    __shared__ int before;
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t] = in[i];
    for (int stride = 1; stride < 128; stride *= 2) {
        __syncthreads();
        int v = t >= stride ? s[t - stride] : 0;
        __syncthreads();
        s[t] += v;
    }
    __syncthreads();
    if (t == 0) {
        int sum = 0;
        if (blockIdx.x > 0) {
            while (atomicAdd(&ready[blockIdx.x], 0) == 0);
            __threadfence(); /* acquire */
            sum = carried[blockIdx.x];
        }
        before = sum;
        carried[blockIdx.x + 1] = sum + s[127];
        __threadfence();
        atomicExch(&ready[blockIdx.x + 1], 1u);
    }
    __syncthreads();
    out[i] = s[t];
    out[n + i] = s[t] + before;
}
