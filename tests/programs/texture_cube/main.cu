// Cube maps: which face a direction meets and where, filtered and not, and one cube of several.
#include <cstdio>
#include <cuda_runtime.h>

const int W = 4;

__global__ void look(cudaTextureObject_t cube, const float3 *d, float *out, int n) {
    int i = threadIdx.x;
    if (i < n) out[i] = texCubemap<float>(cube, d[i].x, d[i].y, d[i].z);
}

__global__ void look_in(cudaTextureObject_t cubes, const float3 *d, float *out, int n) {
    int i = threadIdx.x;
    if (i < n) out[i] = texCubemapLayered<float>(cubes, d[i].x, d[i].y, d[i].z, i % 2);
}

static cudaTextureObject_t made(cudaArray_t array, cudaTextureFilterMode filter) {
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc texture = {};
    texture.filterMode = filter;
    texture.addressMode[0] = texture.addressMode[1] = texture.addressMode[2] = cudaAddressModeClamp;
    texture.readMode = cudaReadModeElementType;
    texture.normalizedCoords = 1;
    cudaTextureObject_t object = 0;
    cudaCreateTextureObject(&object, &resource, &texture, 0);
    return object;
}

static cudaArray_t filled(int cubes, unsigned flags) {
    static float host[12 * W * W];
    for (int face = 0; face < 6 * cubes; face++)
        for (int y = 0; y < W; y++)
            for (int x = 0; x < W; x++) host[(face * W + y) * W + x] = 100 * face + 10 * y + x;
    cudaArray_t array;
    cudaChannelFormatDesc floats = cudaCreateChannelDesc<float>();
    cudaMalloc3DArray(&array, &floats, make_cudaExtent(W, W, 6 * cubes), flags);
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(host, W * sizeof(float), W, W);
    copy.dstArray = array;
    copy.extent = make_cudaExtent(W, W, 6 * cubes);
    copy.kind = cudaMemcpyHostToDevice;
    cudaMemcpy3D(&copy);
    return array;
}

int main() {
    const float3 directions[] = {{1, 0.6f, 0.1f},  {-1, 0.6f, 0.1f}, {0.3f, 2, -0.7f}, {0.3f, -2, -0.7f}, {-0.2f, 0.4f, 1},
                                 {-0.2f, 0.4f, -1}, {3, 2.9f, -2.9f}, {0, 0, -5},       {0.5f, 0.25f, 0.4f}, {-8, 1, -1}};
    const int n = sizeof directions / sizeof *directions;
    float3 *d;
    float *out, host[n];
    cudaMalloc(&d, sizeof directions);
    cudaMalloc(&out, sizeof host);
    cudaMemcpy(d, directions, sizeof directions, cudaMemcpyHostToDevice);
    cudaArray_t one = filled(1, cudaArrayCubemap), two = filled(2, cudaArrayCubemap | cudaArrayLayered);
    struct { const char *name; cudaArray_t array; cudaTextureFilterMode filter; } cases[] = {
        {"nearest ", one, cudaFilterModePoint}, {"filtered", one, cudaFilterModeLinear}, {"of two  ", two, cudaFilterModePoint}};
    for (auto &c : cases) {
        cudaTextureObject_t texture = made(c.array, c.filter);
        if (c.array == one) look<<<1, 32>>>(texture, d, out, n);
        else look_in<<<1, 32>>>(texture, d, out, n);
        cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
        printf("%s", c.name);
        for (float f : host) printf(" %g", f);
        printf("\n");
        cudaDestroyTextureObject(texture);
    }
    cudaFreeArray(one), cudaFreeArray(two);
    cudaFree(d), cudaFree(out);
    printf("%s\n", cudaGetErrorString(cudaGetLastError()));
    return 0;
}
