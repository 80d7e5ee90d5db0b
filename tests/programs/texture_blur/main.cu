// Box blur of radius 1 that leaves the border to the texture unit: clamped coordinates need no guard.
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                         \
    do {                                                                                    \
        cudaError_t status = (call);                                                        \
        if (status != cudaSuccess) {                                                        \
            printf("%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));          \
            exit(1);                                                                        \
        }                                                                                   \
    } while (0)

__global__ void blur(cudaTextureObject_t image, float* out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) sum += tex2D<float>(image, x + dx, y + dy);
    out[y * width + x] = sum;
}

int main() {
    const int width = 40, height = 24;
    float* image = new float[width * height];
    for (int i = 0; i < width * height; i++) image[i] = (float)(i * 7 % 16);

    cudaChannelFormatDesc channels = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    CHECK(cudaMallocArray(&array, &channels, width, height));
    CHECK(cudaMemcpy2DToArray(array, 0, 0, image, width * sizeof(float), width * sizeof(float), height,
                              cudaMemcpyHostToDevice));

    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc how = {};
    how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
    how.filterMode = cudaFilterModePoint;
    how.readMode = cudaReadModeElementType;
    cudaTextureObject_t texture = 0;
    CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));

    float* d_out;
    CHECK(cudaMalloc(&d_out, width * height * sizeof(float)));
    dim3 block(16, 16), grid((width + 15) / 16, (height + 15) / 16);
    blur<<<grid, block>>>(texture, d_out, width, height);
    CHECK(cudaGetLastError());
    float* out = new float[width * height];
    CHECK(cudaMemcpy(out, d_out, width * height * sizeof(float), cudaMemcpyDeviceToHost));

    int wrong = 0;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            float sum = 0;
            for (int dy = -1; dy <= 1; dy++)
                for (int dx = -1; dx <= 1; dx++) {
                    int cx = x + dx < 0 ? 0 : x + dx >= width ? width - 1 : x + dx;
                    int cy = y + dy < 0 ? 0 : y + dy >= height ? height - 1 : y + dy;
                    sum += image[cy * width + cx];
                }
            wrong += out[y * width + x] != sum;
        }
    printf("wrong: %d, corner %g\n", wrong, out[0]);
    CHECK(cudaDestroyTextureObject(texture));
    CHECK(cudaFreeArray(array));
    CHECK(cudaFree(d_out));
    delete[] image;
    delete[] out;
    return 0;
}
