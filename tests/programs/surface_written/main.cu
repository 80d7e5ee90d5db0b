/* A surface is written and read by byte; one thread looks outside of it. */
#include <stdio.h>

__global__ void checker(cudaSurfaceObject_t surface, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = threadIdx.y;
    if (x < width && y < height)
        surf2Dwrite((unsigned)((x + y) % 2 ? 9 : x), surface, x * (int)sizeof(unsigned), y);
}

__global__ void shift(cudaSurfaceObject_t surface, unsigned *out, int width)
{
    int x = threadIdx.x, y = threadIdx.y;
    unsigned left, right;
    surf2Dread(&left, surface, (x - 1) * 4, y, cudaBoundaryModeZero);
    surf2Dread(&right, surface, (x + 1) * 4, y, cudaBoundaryModeClamp);
    out[y * width + x] = left * 10 + right;
}

__global__ void outside(cudaSurfaceObject_t surface)
{
    surf2Dwrite(1u, surface, (threadIdx.x + 1) * 4, 0);
}

int main(void)
{
    enum { WIDTH = 6, HEIGHT = 2 };
    cudaChannelFormatDesc channels = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindUnsigned);
    cudaArray_t plain, array;
    struct cudaResourceDesc resource;
    cudaSurfaceObject_t surface;
    unsigned *out, host[WIDTH * HEIGHT], grid[HEIGHT][WIDTH];
    int i;

    memset(&resource, 0, sizeof resource);
    resource.resType = cudaResourceTypeArray;
    cudaMallocArray(&array, &channels, WIDTH, HEIGHT, cudaArraySurfaceLoadStore);
    resource.res.array.array = array;
    printf("%s\n", cudaGetErrorName(cudaCreateSurfaceObject(&surface, &resource)));
    checker<<<2, dim3(4, HEIGHT)>>>(surface, WIDTH, HEIGHT);
    cudaMemcpy2DFromArray(grid, sizeof grid[0], array, 0, 0, sizeof grid[0], HEIGHT, cudaMemcpyDeviceToHost);
    for (i = 0; i < WIDTH; i++) printf("%u%u ", grid[0][i], grid[1][i]);
    printf("\n");

    cudaMalloc((void **)&out, sizeof host);
    shift<<<1, dim3(WIDTH, HEIGHT)>>>(surface, out, WIDTH);
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    for (i = 0; i < WIDTH * HEIGHT; i++) printf("%u ", host[i]);
    printf("\n");

    outside<<<1, WIDTH>>>(surface);
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    return 0;
}
