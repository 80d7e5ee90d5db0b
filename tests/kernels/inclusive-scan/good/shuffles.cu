// Warps by shuffles, blocks of 1024; a last kernel of one block goes through the sums of the blocks piece by piece.
const unsigned ALL = 0xffffffffu;

__device__ __forceinline__ float warpScan(float v)
{
    int lane = threadIdx.x & 31;
#pragma unroll
    for (int d = 1; d < 32; d <<= 1) {
        float u = __shfl_up_sync(ALL, v, d);
        if (lane >= d)
            v += u;
    }
    return v;
}

__device__ float blockScan(float v, float *shared)
{
    int warp = threadIdx.x >> 5;
    v = warpScan(v);
    if ((threadIdx.x & 31) == 31)
        shared[warp] = v;
    __syncthreads();
    if (warp == 0) {
        float w = threadIdx.x < blockDim.x / 32 ? shared[threadIdx.x] : 0.f;
        w = warpScan(w);
        shared[threadIdx.x] = w;
    }
    __syncthreads();
    if (warp > 0)
        v += shared[warp - 1];
    return v;
}

__global__ void scanTiles(const float *in, float *out, float *tileSums, int n)
{
    __shared__ float shared[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = blockScan(i < n ? in[i] : 0.f, shared);
    if (i < n)
        out[i] = v;
    if (threadIdx.x == blockDim.x - 1)
        tileSums[blockIdx.x] = v;
}

__global__ void scanSums(float *sums, int count)
{
    __shared__ float shared[32];
    __shared__ float carry;
    if (threadIdx.x == 0)
        carry = 0;
    for (int begin = 0; begin < count; begin += blockDim.x) {
        int i = begin + threadIdx.x;
        __syncthreads();
        float v = carry + blockScan(i < count ? sums[i] : 0.f, shared);
        if (i < count)
            sums[i] = v;
        __syncthreads();
        if (threadIdx.x == blockDim.x - 1)
            carry = v;
    }
}

__global__ void addOffsets(float *out, const float *sums, int n)
{
    int i = (blockIdx.x + 1) * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] += sums[blockIdx.x];
}

extern "C" void solve(const float *in, float *out, int n)
{
    int block = 1024, grid = (n + block - 1) / block;
    float *sums;
    cudaMalloc(&sums, grid * sizeof(float));
    scanTiles<<<grid, block>>>(in, out, sums, n);
    if (grid > 1) {
        scanSums<<<1, 128>>>(sums, grid);
        addOffsets<<<grid - 1, block>>>(out, sums, n);
    }
    cudaFree(sums);
}
