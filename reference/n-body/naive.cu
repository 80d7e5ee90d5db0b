// A thread adds up what all bodies do to its own, each read from global memory.
#define SOFTENING 0.01f

__global__ void forces_naive(const float4 *bodies, float3 *acc, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const float4 own = bodies[i];
    float3 sum = make_float3(0, 0, 0);
    for (int j = 0; j < n; ++j) {
        const float4 other = bodies[j];
        const float x = other.x - own.x, y = other.y - own.y, z = other.z - own.z;
        const float inverse = rsqrtf(x * x + y * y + z * z + SOFTENING);
        const float s = other.w * inverse * inverse * inverse;
        sum.x += s * x;
        sum.y += s * y;
        sum.z += s * z;
    }
    acc[i] = sum;
}
