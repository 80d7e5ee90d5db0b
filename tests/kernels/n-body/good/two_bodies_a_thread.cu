#define THREADS 64

__device__ void pull(float4 me, float4 other, float3 &sum)
{
    float3 d = make_float3(other.x - me.x, other.y - me.y, other.z - me.z);
    float inv = rsqrtf(d.x * d.x + d.y * d.y + d.z * d.z + 0.01f);
    float s = other.w * inv * inv * inv;
    sum.x += s * d.x;
    sum.y += s * d.y;
    sum.z += s * d.z;
}

__global__ void forces_opt(const float4 *__restrict__ bodies, float3 *__restrict__ acc, int n)
{
    __shared__ float4 tile[2 * THREADS];
    int first = blockIdx.x * 2 * THREADS + threadIdx.x, second = first + THREADS;
    float4 none = make_float4(0, 0, 0, 0);
    float4 a = first < n ? bodies[first] : none, b = second < n ? bodies[second] : none;
    float3 sum_a = make_float3(0, 0, 0), sum_b = make_float3(0, 0, 0);
    for (int base = 0; base < n; base += 2 * THREADS) {
        for (int k = threadIdx.x; k < 2 * THREADS; k += THREADS)
            tile[k] = base + k < n ? bodies[base + k] : none;
        __syncthreads();
#pragma unroll 4
        for (int k = 0; k < 2 * THREADS; ++k) {
            pull(a, tile[k], sum_a);
            pull(b, tile[k], sum_b);
        }
        __syncthreads();
    }
    if (first < n)
        acc[first] = sum_a;
    if (second < n)
        acc[second] = sum_b;
}

void launch(const float4 *bodies, float3 *acc, int n)
{
    int blocks = (n + 2 * THREADS - 1) / (2 * THREADS);
    forces_opt<<<blocks, THREADS>>>(bodies, acc, n);
}
