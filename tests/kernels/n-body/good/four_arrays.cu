// A tile of coordinates and masses, each in an array of its own.
#define T 64

__global__ void __launch_bounds__(T) forcesShared(const float4 *bodies, float3 *acc, int n)
{
    __shared__ float x[T], y[T], z[T], m[T];
    const int tid = threadIdx.x, i = blockIdx.x * T + tid;
    float4 me = bodies[min(i, n - 1)];
    float ax = 0, ay = 0, az = 0;
    for (int base = 0; base < n; base += T) {
        float4 body = bodies[min(base + tid, n - 1)];
        x[tid] = body.x;
        y[tid] = body.y;
        z[tid] = body.z;
        m[tid] = base + tid < n ? body.w : 0;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < T; ++k) {
            float dx = x[k] - me.x, dy = y[k] - me.y, dz = z[k] - me.z;
            float r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
            float s = m[k] * r * r * r;
            ax = fmaf(s, dx, ax);
            ay = fmaf(s, dy, ay);
            az = fmaf(s, dz, az);
        }
        __syncthreads();
    }
    if (i < n)
        acc[i] = make_float3(ax, ay, az);
}

void launch(const float4 *bodies, float3 *acc, int n)
{
    forcesShared<<<(n + T - 1) / T, T>>>(bodies, acc, n);
}
