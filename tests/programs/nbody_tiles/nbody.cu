/* N-body: all pairs, float4 bodies, tiles of positions in shared memory, leapfrog. */
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cstring>
#include <sys/time.h>

#define P 32
#define EPS2 0.01f

typedef struct
{
    float4 *pos; /* x, y, z, mass */
    float4 *vel;
} BodySystem;

static double now(void)
{
    struct timeval tv;
    gettimeofday(&tv, 0);
    return tv.tv_sec + tv.tv_usec * 1e-6;
}

__device__ float3 interaction(float4 bi, float4 bj, float3 ai)
{
    float3 r;
    r.x = bj.x - bi.x;
    r.y = bj.y - bi.y;
    r.z = bj.z - bi.z;
    float d2 = r.x * r.x + r.y * r.y + r.z * r.z + EPS2;
    float inv = 1.0f / sqrtf(d2);
    float s = bj.w * inv * inv * inv;
    ai.x += r.x * s;
    ai.y += r.y * s;
    ai.z += r.z * s;
    return ai;
}

__global__ void accelerate(const float4 *pos, float4 *vel, int n, float dt)
{
    __shared__ float4 tile[P];
    int i = blockIdx.x * P + threadIdx.x;
    float4 mine = i < n ? pos[i] : make_float4(0, 0, 0, 0);
    float3 a = make_float3(0.0f, 0.0f, 0.0f);
    for (int t = 0; t < (n + P - 1) / P; t++)
    {
        int k = t * P + threadIdx.x;
        tile[threadIdx.x] = k < n ? pos[k] : make_float4(0, 0, 0, 0);
        __syncthreads();
        for (int j = 0; j < P; j++)
            a = interaction(mine, tile[j], a);
        __syncthreads();
    }
    if (i < n)
    {
        vel[i].x += a.x * dt;
        vel[i].y += a.y * dt;
        vel[i].z += a.z * dt;
    }
}

__global__ void move(float4 *pos, const float4 *vel, int n, float dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
    {
        pos[i].x += vel[i].x * dt;
        pos[i].y += vel[i].y * dt;
        pos[i].z += vel[i].z * dt;
    }
}

static void accelerate_cpu(const float4 *pos, float4 *vel, int n, float dt)
{
    for (int i = 0; i < n; i++)
    {
        float ax = 0, ay = 0, az = 0;
        for (int j = 0; j < n; j++)
        {
            float x = pos[j].x - pos[i].x;
            float y = pos[j].y - pos[i].y;
            float z = pos[j].z - pos[i].z;
            float d2 = x * x + y * y + z * z + EPS2;
            float inv = 1.0f / sqrtf(d2);
            float s = pos[j].w * inv * inv * inv;
            ax += x * s;
            ay += y * s;
            az += z * s;
        }
        vel[i].x += ax * dt;
        vel[i].y += ay * dt;
        vel[i].z += az * dt;
    }
}

static void move_cpu(float4 *pos, const float4 *vel, int n, float dt)
{
    for (int i = 0; i < n; i++)
    {
        pos[i].x += vel[i].x * dt;
        pos[i].y += vel[i].y * dt;
        pos[i].z += vel[i].z * dt;
    }
}

static void place(BodySystem *s, int n)
{
    for (int i = 0; i < n; i++)
    {
        float angle = 0.37f * i;
        s->pos[i].x = cosf(angle) * (1 + i % 5);
        s->pos[i].y = sinf(angle) * (1 + i % 3);
        s->pos[i].z = (i % 7) - 3.0f;
        s->pos[i].w = 1.0f / n;
        memset(&s->vel[i], 0, sizeof s->vel[i]);
    }
}

static float momentum(const BodySystem *s, int n)
{
    float x = 0, y = 0, z = 0;
    for (int i = 0; i < n; i++)
    {
        x += s->vel[i].x * s->pos[i].w;
        y += s->vel[i].y * s->pos[i].w;
        z += s->vel[i].z * s->pos[i].w;
    }
    return sqrtf(x * x + y * y + z * z);
}

static int failed(cudaError_t e, int line)
{
    if (e != cudaSuccess)
        printf("line %d: %s\n", line, cudaGetErrorString(e));
    return e != cudaSuccess;
}
#define FAILED(call) failed(call, __LINE__)

int main(int argc, char **argv)
{
    int n = 70, steps = 3, show = 0;
    for (int i = 1; i < argc; i++)
    {
        if (!strcmp(argv[i], "-n") && i + 1 < argc)
            n = atoi(argv[++i]);
        else if (!strcmp(argv[i], "-s") && i + 1 < argc)
            steps = atoi(argv[++i]);
        else if (!strcmp(argv[i], "-v"))
            show = 1;
        else
        {
            printf("usage: nbody [-n bodies] [-s steps] [-v]\n");
            return 2;
        }
    }
    size_t bytes = n * sizeof(float4);
    BodySystem cpu, gpu, dev;
    cpu.pos = (float4 *)malloc(bytes);
    cpu.vel = (float4 *)malloc(bytes);
    gpu.pos = (float4 *)malloc(bytes);
    gpu.vel = (float4 *)malloc(bytes);
    place(&cpu, n);
    place(&gpu, n);

    if (FAILED(cudaMalloc((void **)&dev.pos, bytes)) || FAILED(cudaMalloc((void **)&dev.vel, bytes)))
        return 1;
    if (FAILED(cudaMemcpy(dev.pos, gpu.pos, bytes, cudaMemcpyHostToDevice)))
        return 1;
    if (FAILED(cudaMemcpy(dev.vel, gpu.vel, bytes, cudaMemcpyHostToDevice)))
        return 1;

    double t0 = now();
    for (int s = 0; s < steps; s++)
    {
        accelerate<<<(n + P - 1) / P, P>>>(dev.pos, dev.vel, n, 0.01f);
        move<<<(n + 63) / 64, 64>>>(dev.pos, dev.vel, n, 0.01f);
        if (FAILED(cudaGetLastError()))
            return 1;
    }
    if (FAILED(cudaDeviceSynchronize()))
        return 1;
    double t1 = now();
    if (FAILED(cudaMemcpy(gpu.pos, dev.pos, bytes, cudaMemcpyDeviceToHost)))
        return 1;
    if (FAILED(cudaMemcpy(gpu.vel, dev.vel, bytes, cudaMemcpyDeviceToHost)))
        return 1;

    for (int s = 0; s < steps; s++)
    {
        accelerate_cpu(cpu.pos, cpu.vel, n, 0.01f);
        move_cpu(cpu.pos, cpu.vel, n, 0.01f);
    }
    float worst = 0;
    for (int i = 0; i < n; i++)
    {
        worst = fmaxf(worst, fabsf(cpu.pos[i].x - gpu.pos[i].x));
        worst = fmaxf(worst, fabsf(cpu.pos[i].y - gpu.pos[i].y));
        worst = fmaxf(worst, fabsf(cpu.pos[i].z - gpu.pos[i].z));
    }
    printf("%d bodies, %d steps: %s\n", n, steps, worst < 1e-4f ? "agrees with the CPU" : "differs");
    printf("momentum %s\n", momentum(&gpu, n) < 1e-4f ? "kept" : "lost");
    if (show)
        printf("%s\n", t1 > t0 ? "time passed" : "no time");
    cudaFree(dev.pos);
    cudaFree(dev.vel);
    free(cpu.pos);
    free(cpu.vel);
    free(gpu.pos);
    free(gpu.vel);
    return 0;
}
