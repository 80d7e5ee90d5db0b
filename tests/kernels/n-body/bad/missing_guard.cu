#define SOFTENING 0.01f

__global__ void forcesNaive(const float4 *bodies, float3 *acc, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    {
        float4 me = bodies[i];
        float ax = 0, ay = 0, az = 0;
        for (int j = 0; j < n; j++) {
            float4 other = bodies[j];
            float dx = other.x - me.x;
            float dy = other.y - me.y;
            float dz = other.z - me.z;
            float squared = dx * dx + dy * dy + dz * dz + SOFTENING;
            float s = other.w / (squared * sqrtf(squared));
            ax += s * dx;
            ay += s * dy;
            az += s * dz;
        }
        acc[i] = make_float3(ax, ay, az);
    }
}
