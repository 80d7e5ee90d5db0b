// Texture and surface objects: types as the runtime lays them out, and the calls.
#pragma once
struct cudaMipmappedArray;
typedef cudaMipmappedArray *cudaMipmappedArray_t;
typedef unsigned long long cudaTextureObject_t;
typedef unsigned long long cudaSurfaceObject_t;
enum cudaResourceType {
    cudaResourceTypeArray = 0,
    cudaResourceTypeMipmappedArray = 1,
    cudaResourceTypeLinear = 2,
    cudaResourceTypePitch2D = 3
};
struct cudaResourceDesc {
    cudaResourceType resType;
    union {
        struct { cudaArray_t array; } array;
        struct { cudaMipmappedArray_t mipmap; } mipmap;
        struct { void *devPtr; cudaChannelFormatDesc desc; size_t sizeInBytes; } linear;
        struct { void *devPtr; cudaChannelFormatDesc desc; size_t width, height, pitchInBytes; } pitch2D;
        struct { int reserved[32]; } reserved;
    } res;
    unsigned flags;
};
struct cudaResourceViewDesc;
enum cudaTextureAddressMode {
    cudaAddressModeWrap = 0, cudaAddressModeClamp = 1, cudaAddressModeMirror = 2, cudaAddressModeBorder = 3
};
enum cudaTextureFilterMode { cudaFilterModePoint = 0, cudaFilterModeLinear = 1 };
enum cudaTextureReadMode { cudaReadModeElementType = 0, cudaReadModeNormalizedFloat = 1 };
struct cudaTextureDesc {
    cudaTextureAddressMode addressMode[3];
    cudaTextureFilterMode filterMode;
    cudaTextureReadMode readMode;
    int sRGB;
    float borderColor[4];
    int normalizedCoords;
    unsigned maxAnisotropy;
    cudaTextureFilterMode mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
    int disableTrilinearOptimization, seamlessCubemap;
};
enum cudaSurfaceBoundaryMode { cudaBoundaryModeZero = 0, cudaBoundaryModeClamp = 1, cudaBoundaryModeTrap = 2 };
#define cudaArrayCubemap 4
#define cudaArrayTextureGather 8

GRADER_IMPORT("cudaCreateTextureObject") GRADER_CHECKED cudaError_t cudaCreateTextureObject(cudaTextureObject_t *texture, const cudaResourceDesc *resource, const cudaTextureDesc *description, const cudaResourceViewDesc *view = 0, GRADER_PLACE);
GRADER_IMPORT("cudaDestroyTextureObject") GRADER_CHECKED cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture, GRADER_PLACE);
GRADER_IMPORT("cudaCreateSurfaceObject") GRADER_CHECKED cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *surface, const cudaResourceDesc *resource, GRADER_PLACE);
GRADER_IMPORT("cudaDestroySurfaceObject") GRADER_CHECKED cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surface, GRADER_PLACE);
GRADER_IMPORT("cudaGetTextureObjectResourceDesc") GRADER_CHECKED cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc *resource, cudaTextureObject_t texture, GRADER_PLACE);
GRADER_IMPORT("cudaGetTextureObjectTextureDesc") GRADER_CHECKED cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc *description, cudaTextureObject_t texture, GRADER_PLACE);
GRADER_IMPORT("cudaGetSurfaceObjectResourceDesc") GRADER_CHECKED cudaError_t cudaGetSurfaceObjectResourceDesc(cudaResourceDesc *resource, cudaSurfaceObject_t surface, GRADER_PLACE);
static_assert(sizeof(cudaResourceDesc) == 144 && sizeof(cudaTextureDesc) == 72, "");
GRADER_IMPORT("cudaGetChannelDesc") GRADER_CHECKED cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc *desc, cudaArray_const_t array, GRADER_PLACE);
GRADER_IMPORT("cudaArrayGetInfo") GRADER_CHECKED cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc *desc, cudaExtent *extent, unsigned *flags, cudaArray_t array, GRADER_PLACE);
// Copies of boxes in the order of a stream.  Where an array takes part, positions and widths count its elements.
inline size_t grader_element_bytes(cudaArray_const_t a, int line, const char *file) {
    cudaChannelFormatDesc d = {};
    return cudaGetChannelDesc(&d, a, line, file) == cudaSuccess ? (d.x + d.y + d.z + d.w) / 8 : 1;
}
GRADER_CHECKED inline cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch, size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t s = 0, GRADER_PLACE) {
    const size_t n = grader_element_bytes(to, GRADER_HERE);
    cudaMemcpy3DParms p = {};
    p.srcPtr = make_cudaPitchedPtr((void *)from, pitch, width, height);
    p.dstArray = to, p.dstPos = make_cudaPos(x / n, y, 0), p.extent = make_cudaExtent(width / n, height, 1), p.kind = kind;
    return cudaMemcpy3DAsync(&p, s, GRADER_HERE);
}
GRADER_CHECKED inline cudaError_t cudaMemcpy2DFromArrayAsync(void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t s = 0, GRADER_PLACE) {
    const size_t n = grader_element_bytes(from, GRADER_HERE);
    cudaMemcpy3DParms p = {};
    p.dstPtr = make_cudaPitchedPtr(to, pitch, width, height);
    p.srcArray = (cudaArray_t)from, p.srcPos = make_cudaPos(x / n, y, 0), p.extent = make_cudaExtent(width / n, height, 1), p.kind = kind;
    return cudaMemcpy3DAsync(&p, s, GRADER_HERE);
}
// A part of one row, or whole rows.
inline size_t grader_row_bytes(cudaArray_const_t a, size_t x, size_t bytes, int line, const char *file) {
    cudaChannelFormatDesc d = {};
    cudaExtent e = {};
    if (cudaArrayGetInfo(&d, &e, nullptr, (cudaArray_t)a, line, file) != cudaSuccess) return bytes;
    const size_t row = e.width * (d.x + d.y + d.z + d.w) / 8;
    return x || bytes < row || bytes % row ? bytes : row;
}
GRADER_CHECKED inline cudaError_t cudaMemcpyToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t s = 0, GRADER_PLACE) {
    const size_t row = grader_row_bytes(to, x, bytes, GRADER_HERE);
    return cudaMemcpy2DToArrayAsync(to, x, y, from, row, row, row ? bytes / row : 0, kind, s, GRADER_HERE);
}
GRADER_CHECKED inline cudaError_t cudaMemcpyFromArrayAsync(void *to, cudaArray_const_t from, size_t x, size_t y, size_t bytes, cudaMemcpyKind kind, cudaStream_t s = 0, GRADER_PLACE) {
    const size_t row = grader_row_bytes(from, x, bytes, GRADER_HERE);
    return cudaMemcpy2DFromArrayAsync(to, row, from, x, y, row, row ? bytes / row : 0, kind, s, GRADER_HERE);
}
GRADER_CHECKED inline cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from, size_t x, size_t y, size_t width, size_t height, cudaMemcpyKind kind = cudaMemcpyDeviceToDevice, GRADER_PLACE) {
    const size_t n = grader_element_bytes(from, GRADER_HERE), to_n = grader_element_bytes(to, GRADER_HERE);
    cudaMemcpy3DParms p = {};
    p.srcArray = (cudaArray_t)from, p.srcPos = make_cudaPos(x / n, y, 0);
    p.dstArray = to, p.dstPos = make_cudaPos(to_x / to_n, to_y, 0), p.extent = make_cudaExtent(width / n, height, 1), p.kind = kind;
    return cudaMemcpy3D(&p, GRADER_HERE);
}
