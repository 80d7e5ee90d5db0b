// What the lanes of a warp tell each other. Result k of thread i goes to out[k * n + i].
#define PUT(value) out[k++ * n + i] = (value)
#define FULL 0xffffffffu

extern "C" __global__ void shuffles(const int* a, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, x = a[i], k = 0;
    PUT(__shfl_sync(FULL, x, 5));
    PUT(__shfl_sync(FULL, x, i * 7));
    PUT(__shfl_sync(FULL, x, 3, 8));
    PUT(__shfl_up_sync(FULL, x, 1));
    PUT(__shfl_up_sync(FULL, x, 5, 16));
    PUT(__shfl_down_sync(FULL, x, 1));
    PUT(__shfl_down_sync(FULL, x, 3, 4));
    PUT(__shfl_xor_sync(FULL, x, 1));
    PUT(__shfl_xor_sync(FULL, x, 31));
    PUT(__shfl_xor_sync(FULL, x, 12, 8));
    PUT(__shfl_sync(FULL, x, -1));
    PUT(__shfl_down_sync(FULL, x, (unsigned)(i & 3)));
}

extern "C" __global__ void wide_shuffles(const double* a, const long long* b, double* out, long long* bits, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = __shfl_down_sync(FULL, a[i], 4) + __shfl_xor_sync(FULL, (float)a[i], 2);
    bits[i] = __shfl_up_sync(FULL, b[i], 7) ^ __shfl_sync(FULL, b[i], 31 - (i & 31));
}

extern "C" __global__ void votes(const int* a, unsigned* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, x = a[i], all;
    int k = 0;
    PUT(__ballot_sync(FULL, x & 1));
    PUT(__any_sync(FULL, x > 95));
    PUT(__all_sync(FULL, x < 99));
    PUT(__match_any_sync(FULL, x & 7));
    PUT(__match_any_sync(FULL, (long long)(x & 3) << 33));
    PUT(__match_all_sync(FULL, i / 32, &all) + 5 * all);
    PUT(__match_all_sync(FULL, x, &all) + 5 * all);
    PUT(__popc(__activemask()));
    if (x & 1) out[k * n + i] = __ballot_sync(__activemask(), x > 50);
    else out[k * n + i] = __popc(__activemask());
}

// Only some lanes take part, and say so.
extern "C" __global__ void partial_masks(const int* a, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = i & 31, r = -1;
    if (lane < 12) r = __shfl_down_sync(0xfffu, a[i], 2, 4);
    else if (lane >= 16) r = __shfl_xor_sync(0xffff0000u, a[i], 8) + __popc(__ballot_sync(0xffff0000u, a[i] & 1));
    __syncwarp();
    out[i] = r;
}

extern "C" __global__ void warp_sums(const float* a, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = i < n ? a[i] : 0.0f;
    for (int d = 16; d > 0; d >>= 1) s += __shfl_down_sync(FULL, s, d);
    if ((i & 31) == 0) out[i / 32] = s;
}

extern "C" __global__ void warp_scan(const int* a, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31, x = a[i];
    for (int d = 1; d < 32; d *= 2) {
        int y = __shfl_up_sync(FULL, x, d);
        if (lane >= d) x += y;
    }
    out[i] = x;
}

// Shared memory within a warp, put in order by __syncwarp().
extern "C" __global__ void warp_shared(const int* a, int* out, int n) {
    __shared__ int s[128];
    int t = threadIdx.x, lane = t & 31, base = t & ~31;
    s[t] = a[blockIdx.x * blockDim.x + t];
    __syncwarp();
    for (int d = 16; d > 0; d >>= 1) {
        if (lane < d) s[t] += s[t + d];
        __syncwarp();
    }
    out[blockIdx.x * blockDim.x + t] = s[base] + lane;
}

extern "C" __global__ void lane_registers(unsigned* out, int n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, lane, warp, lt, le, gt, ge, eq, warps;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lt));
    asm("mov.u32 %0, %%lanemask_le;" : "=r"(le));
    asm("mov.u32 %0, %%lanemask_gt;" : "=r"(gt));
    asm("mov.u32 %0, %%lanemask_ge;" : "=r"(ge));
    asm("mov.u32 %0, %%lanemask_eq;" : "=r"(eq));
    unsigned values[6] = {lane, lt, le, gt, ge, eq};
    for (int k = 0; k < 6; ++k) out[k * n + i] = values[k];
}

extern "C" __global__ void indices(int* out) {
    int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    int size = blockDim.x * blockDim.y * blockDim.z;
    int* p = out + 6 * (block * size + thread);
    p[0] = threadIdx.x; p[1] = threadIdx.y; p[2] = threadIdx.z;
    p[3] = blockIdx.x; p[4] = blockIdx.y; p[5] = blockIdx.z + 100 * gridDim.z + 1000 * warpSize;
}
