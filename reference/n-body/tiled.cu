// A block goes through all bodies in tiles: every thread brings one, and all use it.
#define SOFTENING 0.01f
#define BLOCK 128

__global__ void forces_tiled(const float4 *bodies, float3 *acc, int n)
{
    __shared__ float4 tile[BLOCK];
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    const float4 own = i < n ? bodies[i] : make_float4(0, 0, 0, 0);
    float3 sum = make_float3(0, 0, 0);
    for (int first = 0; first < n; first += BLOCK) {
        const int j = first + threadIdx.x;
        // What has no mass attracts nothing.
        tile[threadIdx.x] = j < n ? bodies[j] : make_float4(0, 0, 0, 0);
        __syncthreads(); // the tile is there

#pragma unroll 8
        for (int k = 0; k < BLOCK; ++k) {
            const float4 other = tile[k];
            const float x = other.x - own.x, y = other.y - own.y, z = other.z - own.z;
            const float inverse = rsqrtf(x * x + y * y + z * z + SOFTENING);
            const float s = other.w * inverse * inverse * inverse;
            sum.x += s * x;
            sum.y += s * y;
            sum.z += s * z;
        }
        __syncthreads(); // and may be overwritten
    }
    if (i < n)
        acc[i] = sum;
}
