// Two threads share a body's sum: either goes through half of each tile, and the halves meet in shared memory.
#define SIDE 64

__global__ void tiled_forces(const float4 *bodies, float3 *acc, int n)
{
    __shared__ float4 tile[2][SIDE];
    __shared__ float3 half[SIDE];
    const int x = threadIdx.x, y = threadIdx.y, i = blockIdx.x * SIDE + x;
    const float4 me = i < n ? bodies[i] : make_float4(0, 0, 0, 0);
    float3 sum = make_float3(0, 0, 0);
    for (int base = 0; base < n; base += 2 * SIDE) {
        const int j = base + y * SIDE + x;
        tile[y][x] = j < n ? bodies[j] : make_float4(0, 0, 0, 0);
        __syncthreads();
        for (int k = 0; k < SIDE; ++k) {
            const float4 other = tile[y][k];
            const float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
            const float inv = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
            const float s = other.w * inv * inv * inv;
            sum.x += s * dx;
            sum.y += s * dy;
            sum.z += s * dz;
        }
        __syncthreads();
    }
    if (y == 1)
        half[x] = sum;
    __syncthreads();
    if (y == 0 && i < n)
        acc[i] = make_float3(sum.x + half[x].x, sum.y + half[x].y, sum.z + half[x].z);
}

void launch(const float4 *bodies, float3 *acc, int n)
{
    tiled_forces<<<(n + SIDE - 1) / SIDE, dim3(SIDE, 2)>>>(bodies, acc, n);
}
