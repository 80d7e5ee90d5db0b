// Pitched volumes: cudaMalloc3D, cudaMemset3D, cudaMemcpy3D there and back.
#include <cstdio>
#include <cstring>
#include <cstdlib>
#include <cuda_runtime.h>

#define W 10
#define H 6
#define D 4

__global__ void addDepth(cudaPitchedPtr volume, cudaExtent extent)
{
    int x = threadIdx.x, y = threadIdx.y, z = blockIdx.x;
    if (x >= extent.width / sizeof(float) || y >= extent.height) return;
    char* slice = (char*)volume.ptr + z * volume.pitch * extent.height;
    float* row = (float*)(slice + y * volume.pitch);
    row[x] += 100.0f * z;
}

static void die(cudaError_t e, int line)
{
    if (e == cudaSuccess) return;
    fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(e));
    exit(1);
}
#define OK(x) die((x), __LINE__)

int main()
{
    float host[D][H][W], back[D][H][W];
    for (int z = 0; z < D; z++)
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++) host[z][y][x] = y * W + x;

    cudaExtent extent = make_cudaExtent(W * sizeof(float), H, D);
    cudaPitchedPtr device;
    OK(cudaMalloc3D(&device, extent));
    OK(cudaMemset3D(device, 0, extent));

    cudaMemcpy3DParms copy = {0};
    copy.srcPtr = make_cudaPitchedPtr(host, W * sizeof(float), W, H);
    copy.dstPtr = device;
    copy.extent = extent;
    copy.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&copy));

    addDepth<<<D, dim3(16, 8)>>>(device, extent);
    OK(cudaGetLastError());

    memset(back, 0, sizeof back);
    cudaMemcpy3DParms fetch;
    memset(&fetch, 0, sizeof fetch);
    fetch.srcPtr = device;
    fetch.dstPtr = make_cudaPitchedPtr(back, W * sizeof(float), W, H);
    fetch.extent = make_cudaExtent(W * sizeof(float), H, D - 1);
    fetch.srcPos = make_cudaPos(0, 0, 1);
    fetch.kind = cudaMemcpyDeviceToHost;
    OK(cudaMemcpy3D(&fetch));

    printf("%g %g %g %g\n", back[0][0][0], back[1][2][3], back[2][5][9], back[3][0][0]);
    OK(cudaFree(device.ptr));
    return 0;
}
