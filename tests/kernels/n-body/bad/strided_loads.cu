#define SOFTENING 0.01f
#define BLOCK_SIZE 128

__device__ float3 interact(float4 me, float4 other, float3 sum)
{
    float dx = other.x - me.x;
    float dy = other.y - me.y;
    float dz = other.z - me.z;
    float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + SOFTENING);
    float s = other.w * inverse * inverse * inverse;
    sum.x += s * dx;
    sum.y += s * dy;
    sum.z += s * dz;
    return sum;
}

__global__ void forcesTiled(const float4 *bodies, float3 *acc, int n)
{
    __shared__ float4 tile[BLOCK_SIZE];
    int i = blockIdx.x * BLOCK_SIZE + threadIdx.x;
    float4 me = make_float4(0, 0, 0, 0);
    if (i < n)
        me = bodies[i];
    float3 sum = make_float3(0, 0, 0);
    int tiles = (n + BLOCK_SIZE - 1) / BLOCK_SIZE;
    for (int t = 0; t < tiles; t++) {
        int j = threadIdx.x * tiles + t;
        if (j < n)
            tile[threadIdx.x] = bodies[j];
        else
            tile[threadIdx.x] = make_float4(0, 0, 0, 0);
        __syncthreads();
        for (int k = 0; k < BLOCK_SIZE; k++)
            sum = interact(me, tile[k], sum);
        __syncthreads();
    }
    if (i < n)
        acc[i] = sum;
}
