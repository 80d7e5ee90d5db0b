// Two bodies a thread: what a tile's element costs to read from shared memory is shared by two interactions, and the two
// sums depend on nothing of each other, so that one's square root is waited for while the other is computed.
#define SOFTENING 0.01f
#define BLOCK 128
#define EACH 2

__global__ void __launch_bounds__(BLOCK) forces_best(const float4 *bodies, float3 *acc, int n)
{
    __shared__ float4 tile[BLOCK];
    const int begin = blockIdx.x * BLOCK * EACH + threadIdx.x;
    float4 own[EACH];
    float3 sum[EACH];
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
        const int i = begin + e * BLOCK;
        own[e] = i < n ? bodies[i] : make_float4(0, 0, 0, 0);
        sum[e] = make_float3(0, 0, 0);
    }
    for (int first = 0; first < n; first += BLOCK) {
        const int j = first + threadIdx.x;
        tile[threadIdx.x] = j < n ? bodies[j] : make_float4(0, 0, 0, 0);
        __syncthreads();

#pragma unroll 16
        for (int k = 0; k < BLOCK; ++k) {
            const float4 other = tile[k];
#pragma unroll
            for (int e = 0; e < EACH; ++e) {
                const float x = other.x - own[e].x, y = other.y - own[e].y, z = other.z - own[e].z;
                const float inverse = rsqrtf(x * x + y * y + z * z + SOFTENING);
                const float s = other.w * inverse * inverse * inverse;
                sum[e].x += s * x;
                sum[e].y += s * y;
                sum[e].z += s * z;
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
        const int i = begin + e * BLOCK;
        if (i < n)
            acc[i] = sum[e];
    }
}
