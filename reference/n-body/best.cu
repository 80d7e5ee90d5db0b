// Several threads share a body: each takes every LANES-th of a tile, and shuffles add up what they have.  So few bodies too
// keep a whole device busy, and a thread waits for one square root while its warp computes on.
#define SOFTENING 0.01f
#define BLOCK 256

template <int LANES> __device__ __forceinline__ void forces(const float4 *bodies, float3 *acc, int n)
{
    __shared__ float4 tile[BLOCK];
    const int lane = threadIdx.x % LANES;
    const int i = (blockIdx.x * BLOCK + threadIdx.x) / LANES;
    const float4 own = i < n ? bodies[i] : make_float4(0, 0, 0, 0);
    float3 sum = make_float3(0, 0, 0);
    for (int first = 0; first < n; first += BLOCK) {
        const int j = first + threadIdx.x;
        tile[threadIdx.x] = j < n ? bodies[j] : make_float4(0, 0, 0, 0);
        __syncthreads();

#pragma unroll
        for (int k = 0; k < BLOCK; k += LANES) {
            const float4 other = tile[k + lane];
            const float x = other.x - own.x, y = other.y - own.y, z = other.z - own.z;
            const float inverse = rsqrtf(x * x + y * y + z * z + SOFTENING);
            const float s = other.w * inverse * inverse * inverse;
            sum.x += s * x;
            sum.y += s * y;
            sum.z += s * z;
        }
        __syncthreads();
    }
#pragma unroll
    for (int step = LANES / 2; step > 0; step /= 2) {
        sum.x += __shfl_xor_sync(~0u, sum.x, step);
        sum.y += __shfl_xor_sync(~0u, sum.y, step);
        sum.z += __shfl_xor_sync(~0u, sum.z, step);
    }
    if (lane == 0 && i < n)
        acc[i] = sum;
}

__global__ void __launch_bounds__(BLOCK) forces_best_few(const float4 *bodies, float3 *acc, int n)
{
    forces<16>(bodies, acc, n);
}

__global__ void __launch_bounds__(BLOCK) forces_best(const float4 *bodies, float3 *acc, int n)
{
    forces<8>(bodies, acc, n);
}
