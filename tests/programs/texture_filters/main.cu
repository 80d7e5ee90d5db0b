// What a texture unit answers beside and between the texels: filtering, wrapping, mirroring, the border, integers read
// as fractions, linear memory read by index, and layers.
#include <cstdio>
#include <vector>

// What an object gives back is compared field by field: of the bytes between and behind them, and of the union's that
// this kind of resource has not, CUDA says nothing.
template <class T>
static void same(const char* field, T told, T given) {
    if (told != given) printf("another %s: %g, not %g\n", field, (double)told, (double)given);
}

static void tell_differences(cudaTextureObject_t texture, const cudaResourceDesc& resource, const cudaTextureDesc& how) {
    cudaTextureDesc told{};
    cudaResourceDesc of{};
    same("status", (int)cudaGetTextureObjectTextureDesc(&told, texture), 0);
    same("status", (int)cudaGetTextureObjectResourceDesc(&of, texture), 0);
    for (int i = 0; i < 3; i++) same("addressMode", (int)told.addressMode[i], (int)how.addressMode[i]);
    for (int i = 0; i < 4; i++) same("borderColor", told.borderColor[i], how.borderColor[i]);
    same("filterMode", (int)told.filterMode, (int)how.filterMode);
    same("readMode", (int)told.readMode, (int)how.readMode);
    same("sRGB", told.sRGB, how.sRGB);
    same("normalizedCoords", told.normalizedCoords, how.normalizedCoords);
    same("maxAnisotropy", told.maxAnisotropy, how.maxAnisotropy);
    same("resType", (int)of.resType, (int)resource.resType);
    if (resource.resType == cudaResourceTypeArray) {
        same("array", (size_t)of.res.array.array, (size_t)resource.res.array.array);
        return;
    }
    bool is_plane = resource.resType == cudaResourceTypePitch2D;
    same("devPtr", (size_t)(is_plane ? of.res.pitch2D.devPtr : of.res.linear.devPtr),
         (size_t)(is_plane ? resource.res.pitch2D.devPtr : resource.res.linear.devPtr));
    const cudaChannelFormatDesc& channels = is_plane ? of.res.pitch2D.desc : of.res.linear.desc;
    const cudaChannelFormatDesc& given = is_plane ? resource.res.pitch2D.desc : resource.res.linear.desc;
    same("desc.f", (int)channels.f, (int)given.f);
    same("desc.x", channels.x, given.x);
    same("desc.y", channels.y, given.y);
    same("desc.z", channels.z, given.z);
    same("desc.w", channels.w, given.w);
    if (!is_plane) same("sizeInBytes", of.res.linear.sizeInBytes, resource.res.linear.sizeInBytes);
    if (!is_plane) return;
    same("width", of.res.pitch2D.width, resource.res.pitch2D.width);
    same("height", of.res.pitch2D.height, resource.res.pitch2D.height);
    same("pitchInBytes", of.res.pitch2D.pitchInBytes, resource.res.pitch2D.pitchInBytes);
}

static cudaTextureObject_t over(cudaResourceDesc resource, cudaTextureAddressMode mode, cudaTextureFilterMode filter,
                                bool normalised, cudaTextureReadMode reading = cudaReadModeElementType) {
    cudaTextureDesc how{};
    for (auto& one : how.addressMode) one = mode;
    how.filterMode = filter;
    how.normalizedCoords = normalised;
    how.readMode = reading;
    how.borderColor[0] = -1.0f;
    cudaTextureObject_t texture = 0;
    cudaError_t status = cudaCreateTextureObject(&texture, &resource, &how, nullptr);
    if (status != cudaSuccess) printf("no texture: %s\n", cudaGetErrorName(status));
    if (status != cudaSuccess) return texture;
    tell_differences(texture, resource, how);
    return texture;
}

__global__ void along(cudaTextureObject_t texture, float first, float step, float* out) {
    out[threadIdx.x] = tex1D<float>(texture, first + step * threadIdx.x);
}

__global__ void around(cudaTextureObject_t texture, float2* out) {
    uchar4 texel = tex2D<uchar4>(texture, threadIdx.x, threadIdx.y);
    out[threadIdx.y * blockDim.x + threadIdx.x] = make_float2(texel.x, texel.w);
}

__global__ void fractions(cudaTextureObject_t texture, float* out) {
    out[threadIdx.x] = tex2D<float>(texture, threadIdx.x, 0.0f);
}

__global__ void fetched(cudaTextureObject_t texture, int first, int* out) {
    out[threadIdx.x] = tex1Dfetch<int>(texture, first + (int)threadIdx.x);
}

__global__ void volume(cudaTextureObject_t texture, float* out) {
    out[threadIdx.x] = tex3D<float>(texture, 1.0f, 1.0f, 0.5f + 0.25f * threadIdx.x);
}

template <class T>
static std::vector<T> back(T* device, int count) {
    std::vector<T> host(count);
    cudaMemcpy(host.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost);
    cudaFree(device);
    return host;
}

static void line(const char* what, cudaTextureObject_t texture, float first, float step) {
    float* out;
    cudaMalloc(&out, 8 * sizeof(float));
    along<<<1, 8>>>(texture, first, step, out);
    printf("%-8s", what);
    for (float value : back(out, 8)) printf(" %g", value);
    printf("\n");
    cudaDestroyTextureObject(texture);
}

int main() {
    float ramp[4] = {0, 8, 16, 64};
    cudaChannelFormatDesc one = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    cudaMallocArray(&array, &one, 4);
    cudaMemcpy2DToArray(array, 0, 0, ramp, sizeof ramp, sizeof ramp, 1, cudaMemcpyHostToDevice);
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    line("linear", over(resource, cudaAddressModeClamp, cudaFilterModeLinear, false), 0.0f, 0.75f);
    line("border", over(resource, cudaAddressModeBorder, cudaFilterModePoint, false), -1.5f, 1.0f);
    line("faded", over(resource, cudaAddressModeBorder, cudaFilterModeLinear, false), -0.5f, 0.5f);
    line("wrapped", over(resource, cudaAddressModeWrap, cudaFilterModePoint, true), -0.375f, 0.25f);
    line("blended", over(resource, cudaAddressModeWrap, cudaFilterModeLinear, true), 0.0f, 0.125f);
    line("mirrored", over(resource, cudaAddressModeMirror, cudaFilterModePoint, true), 0.875f, 0.25f);
    // Wrapping needs coordinates from 0 to 1: with others it is clamping.
    line("clamped", over(resource, cudaAddressModeWrap, cudaFilterModePoint, false), 2.5f, 1.0f);
    cudaFreeArray(array);

    uchar4 colours[6];
    for (int i = 0; i < 6; i++) colours[i] = make_uchar4(i, 2 * i, 3 * i, 250 + i);
    uchar4* pitched;
    size_t pitch;
    cudaMallocPitch(&pitched, &pitch, 3 * sizeof(uchar4), 2);
    cudaMemcpy2D(pitched, pitch, colours, 3 * sizeof(uchar4), 3 * sizeof(uchar4), 2, cudaMemcpyHostToDevice);
    cudaResourceDesc plane{};
    plane.resType = cudaResourceTypePitch2D;
    plane.res.pitch2D.devPtr = pitched;
    plane.res.pitch2D.desc = cudaCreateChannelDesc<uchar4>();
    plane.res.pitch2D.width = 3;
    plane.res.pitch2D.height = 2;
    plane.res.pitch2D.pitchInBytes = pitch;
    cudaTextureObject_t texture = over(plane, cudaAddressModeClamp, cudaFilterModePoint, false);
    float2* texels;
    cudaMalloc(&texels, 8 * sizeof(float2));
    around<<<1, dim3(4, 2)>>>(texture, texels);
    printf("integers");
    for (float2 texel : back(texels, 8)) printf(" %g/%g", texel.x, texel.y);
    cudaDestroyTextureObject(texture);
    texture = over(plane, cudaAddressModeClamp, cudaFilterModePoint, false, cudaReadModeNormalizedFloat);
    float* parts;
    cudaMalloc(&parts, 3 * sizeof(float));
    fractions<<<1, 3>>>(texture, parts);
    printf("\nfractions");
    for (float part : back(parts, 3)) printf(" %.6f", part);
    printf("\n");
    cudaDestroyTextureObject(texture);
    over(plane, cudaAddressModeClamp, cudaFilterModeLinear, false);
    cudaFree(pitched);

    int numbers[5] = {5, 4, 3, 2, 1}, *memory;
    cudaMalloc(&memory, sizeof numbers);
    cudaMemcpy(memory, numbers, sizeof numbers, cudaMemcpyHostToDevice);
    cudaResourceDesc flat{};
    flat.resType = cudaResourceTypeLinear;
    flat.res.linear.devPtr = memory;
    flat.res.linear.desc = cudaCreateChannelDesc<int>();
    flat.res.linear.sizeInBytes = sizeof numbers;
    texture = over(flat, cudaAddressModeClamp, cudaFilterModePoint, false);
    int* found;
    cudaMalloc(&found, 8 * sizeof(int));
    fetched<<<1, 8>>>(texture, -1, found);
    printf("fetched ");
    for (int number : back(found, 8)) printf(" %d", number);
    printf("\n");
    cudaDestroyTextureObject(texture);
    cudaFree(memory);

    float cube[8] = {0, 1, 2, 3, 100, 101, 102, 103};
    cudaExtent extent = make_cudaExtent(2, 2, 2);
    cudaMalloc3DArray(&array, &one, extent);
    cudaMemcpy3DParms copy{};
    copy.srcPtr = make_cudaPitchedPtr(cube, 2 * sizeof(float), 2, 2);
    copy.dstArray = array;
    copy.extent = extent;
    copy.kind = cudaMemcpyHostToDevice;
    cudaMemcpy3D(&copy);
    resource.res.array.array = array;
    texture = over(resource, cudaAddressModeClamp, cudaFilterModeLinear, false);
    cudaMalloc(&parts, 5 * sizeof(float));
    volume<<<1, 5>>>(texture, parts);
    printf("volume  ");
    for (float part : back(parts, 5)) printf(" %g", part);
    printf("\n");
    cudaDestroyTextureObject(texture);
    cudaFreeArray(array);
    return 0;
}
