__global__ void bodies_naive(float4 *p, float3 *a, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float3 sum = {0.f, 0.f, 0.f};
        for (int j = 0; j < n; ++j) {
            float3 d = {p[j].x - p[i].x, p[j].y - p[i].y, p[j].z - p[i].z};
            float r2 = d.x * d.x + d.y * d.y + d.z * d.z + 1e-2f;
            float s = p[j].w / sqrtf(r2 * r2 * r2);
            sum.x += d.x * s;
            sum.y += d.y * s;
            sum.z += d.z * s;
        }
        a[i] = sum;
    }
}
