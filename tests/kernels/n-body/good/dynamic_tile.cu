// A tile as large as the block, whatever that is.
__device__ float3 add(float3 sum, float4 at, float4 by)
{
    float x = by.x - at.x, y = by.y - at.y, z = by.z - at.z;
    float inv = rsqrtf(x * x + y * y + z * z + 0.01f);
    float s = by.w * (inv * inv * inv);
    return make_float3(sum.x + s * x, sum.y + s * y, sum.z + s * z);
}

__global__ void calculate_forces(const float4 *globalX, float3 *globalA, int n)
{
    extern __shared__ float4 shared[];
    int gtid = blockIdx.x * blockDim.x + threadIdx.x;
    float4 mine = gtid < n ? globalX[gtid] : make_float4(0, 0, 0, 0);
    float3 sum = make_float3(0, 0, 0);
    for (int done = 0; done < n; done += blockDim.x) {
        int there = min((int)blockDim.x, n - done);
        if (threadIdx.x < there)
            shared[threadIdx.x] = globalX[done + threadIdx.x];
        __syncthreads();
        for (int k = 0; k < there; ++k)
            sum = add(sum, mine, shared[k]);
        __syncthreads();
    }
    if (gtid < n)
        globalA[gtid] = sum;
}
