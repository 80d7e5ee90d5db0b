// The accelerations of n bodies that attract one another, in two ways.  A body is a float4: its place x, y, z and its mass w.
// Write the two kernels and their launches.  Build with:  nvcc -o n-body starter.cu
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                    \
    do {                                                                               \
        cudaError_t status = (call);                                                   \
        if (status != cudaSuccess) {                                                   \
            fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(status));    \
            exit(1);                                                                   \
        }                                                                              \
    } while (0)

#define SOFTENING 0.01f
#define BLOCK 128

// One thread per body; the others are read from global memory.
__global__ void forces_naive(const float4 *bodies, float3 *acc, int n)
{
}

// One thread per body; the block goes through the others in tiles of BLOCK bodies in shared memory.
__global__ void forces_tiled(const float4 *bodies, float3 *acc, int n)
{
}

void on_the_cpu(const std::vector<float4> &bodies, std::vector<float3> &acc)
{
    for (size_t i = 0; i < bodies.size(); ++i) {
        double ax = 0, ay = 0, az = 0;
        for (const float4 &other : bodies) {
            double x = other.x - bodies[i].x, y = other.y - bodies[i].y, z = other.z - bodies[i].z;
            double squared = x * x + y * y + z * z + SOFTENING;
            double s = other.w / (squared * std::sqrt(squared));
            ax += s * x;
            ay += s * y;
            az += s * z;
        }
        acc[i] = make_float3(ax, ay, az);
    }
}

int main()
{
    const int n = 1000;
    std::vector<float4> bodies(n);
    std::vector<float3> acc(n), right(n);
    for (float4 &body : bodies)
        body = make_float4(rand() % 2000 / 1000.0f - 1, rand() % 2000 / 1000.0f - 1, rand() % 2000 / 1000.0f - 1, 1);
    on_the_cpu(bodies, right);

    float4 *d_bodies;
    float3 *d_acc;
    CHECK(cudaMalloc(&d_bodies, n * sizeof(float4)));
    CHECK(cudaMalloc(&d_acc, n * sizeof(float3)));
    CHECK(cudaMemcpy(d_bodies, bodies.data(), n * sizeof(float4), cudaMemcpyHostToDevice));

    // Launch a kernel, copy `acc` back, compare it with `right`; then the other one.

    CHECK(cudaFree(d_bodies));
    CHECK(cudaFree(d_acc));
}
