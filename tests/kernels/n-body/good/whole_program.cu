#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define SOFTENING 0.01f

__global__ void forcesNaive(const float4 *bodies, float3 *acc, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
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
    for (int t = 0; t < (n + BLOCK_SIZE - 1) / BLOCK_SIZE; t++) {
        int j = t * BLOCK_SIZE + threadIdx.x;
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

static void check(cudaError_t status)
{
    if (status != cudaSuccess) {
        fprintf(stderr, "%s\n", cudaGetErrorString(status));
        exit(1);
    }
}

int main()
{
    const int n = 1000;
    const size_t bytes = n * sizeof(float4);
    std::vector<float4> bodies(n);
    std::vector<float3> acc(n);
    for (float4 &b : bodies)
        b = make_float4(drand48(), drand48(), drand48(), 1 + drand48());
    float4 *d_bodies;
    float3 *d_acc;
    check(cudaMalloc(&d_bodies, bytes));
    check(cudaMalloc(&d_acc, n * sizeof(float3)));
    check(cudaMemcpy(d_bodies, bodies.data(), bytes, cudaMemcpyHostToDevice));
    for (int which = 0; which < 2; which++) {
        int blocks = (n + BLOCK_SIZE - 1) / BLOCK_SIZE;
        if (which == 0)
            forcesNaive<<<blocks, BLOCK_SIZE>>>(d_bodies, d_acc, n);
        else
            forcesTiled<<<blocks, BLOCK_SIZE>>>(d_bodies, d_acc, n);
        check(cudaGetLastError());
        check(cudaMemcpy(acc.data(), d_acc, n * sizeof(float3), cudaMemcpyDeviceToHost));
        double worst = 0;
        for (int i = 0; i < n; i++) {
            double ax = 0;
            for (int j = 0; j < n; j++) {
                double x = bodies[j].x - bodies[i].x, y = bodies[j].y - bodies[i].y, z = bodies[j].z - bodies[i].z;
                ax += bodies[j].w * x / pow(x * x + y * y + z * z + 0.01, 1.5);
            }
            worst = fmax(worst, fabs(ax - acc[i].x));
        }
        printf("largest difference: %g\n", worst);
    }
    cudaFree(d_bodies);
    cudaFree(d_acc);
}
