// CUDA arrays, textures and surfaces: types as the runtime lays them out, and the calls.
#pragma once
struct cudaArray;
typedef cudaArray *cudaArray_t;
typedef const cudaArray *cudaArray_const_t;
struct cudaMipmappedArray;
typedef cudaMipmappedArray *cudaMipmappedArray_t;
typedef unsigned long long cudaTextureObject_t;
typedef unsigned long long cudaSurfaceObject_t;
enum cudaChannelFormatKind {
    cudaChannelFormatKindSigned = 0,
    cudaChannelFormatKindUnsigned = 1,
    cudaChannelFormatKindFloat = 2,
    cudaChannelFormatKindNone = 3
};
struct cudaChannelFormatDesc { int x, y, z, w; cudaChannelFormatKind f; };
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
struct cudaMemcpy3DParms {
    cudaArray_t srcArray;
    cudaPos srcPos;
    cudaPitchedPtr srcPtr;
    cudaArray_t dstArray;
    cudaPos dstPos;
    cudaPitchedPtr dstPtr;
    cudaExtent extent;
    cudaMemcpyKind kind;
};
#define cudaArrayDefault 0
#define cudaArrayLayered 1
#define cudaArraySurfaceLoadStore 2
#define cudaArrayCubemap 4
#define cudaArrayTextureGather 8

GRADER_IMPORT("cudaMallocArray") GRADER_CHECKED cudaError_t cudaMallocArray(cudaArray_t *array, const cudaChannelFormatDesc *desc, size_t width, size_t height = 0, unsigned flags = 0, GRADER_PLACE);
GRADER_IMPORT("cudaMalloc3DArray") GRADER_CHECKED cudaError_t grader_cudaMalloc3DArray(cudaArray_t *array, const cudaChannelFormatDesc *desc, const cudaExtent *extent, unsigned flags, int line, const char *file);
inline GRADER_CHECKED cudaError_t cudaMalloc3DArray(cudaArray_t *array, const cudaChannelFormatDesc *desc, cudaExtent extent, unsigned flags = 0, GRADER_PLACE) { return grader_cudaMalloc3DArray(array, desc, &extent, flags, GRADER_HERE); }
GRADER_IMPORT("cudaFreeArray") GRADER_CHECKED cudaError_t cudaFreeArray(cudaArray_t array, GRADER_PLACE);
GRADER_IMPORT("cudaMemcpy2DToArray") GRADER_CHECKED cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x_bytes, size_t y, const void *from, size_t pitch, size_t width, size_t height, cudaMemcpyKind kind, GRADER_PLACE);
GRADER_IMPORT("cudaMemcpy2DToArrayAsync") GRADER_CHECKED cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x_bytes, size_t y, const void *from, size_t pitch, size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream = 0, GRADER_PLACE);
GRADER_IMPORT("cudaMemcpy2DFromArray") GRADER_CHECKED cudaError_t cudaMemcpy2DFromArray(void *to, size_t pitch, cudaArray_const_t from, size_t x_bytes, size_t y, size_t width, size_t height, cudaMemcpyKind kind, GRADER_PLACE);
GRADER_IMPORT("cudaMemcpy2DFromArrayAsync") GRADER_CHECKED cudaError_t cudaMemcpy2DFromArrayAsync(void *to, size_t pitch, cudaArray_const_t from, size_t x_bytes, size_t y, size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream = 0, GRADER_PLACE);
GRADER_IMPORT("cudaMemcpy2DArrayToArray") GRADER_CHECKED cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from, size_t from_x, size_t from_y, size_t width, size_t height, cudaMemcpyKind kind = cudaMemcpyDeviceToDevice, GRADER_PLACE);
GRADER_IMPORT("cudaMemcpyToArray") GRADER_CHECKED cudaError_t cudaMemcpyToArray(cudaArray_t to, size_t x_bytes, size_t y, const void *from, size_t bytes, cudaMemcpyKind kind, GRADER_PLACE);
GRADER_IMPORT("cudaMemcpyFromArray") GRADER_CHECKED cudaError_t cudaMemcpyFromArray(void *to, cudaArray_const_t from, size_t x_bytes, size_t y, size_t bytes, cudaMemcpyKind kind, GRADER_PLACE);
GRADER_IMPORT("cudaMemcpy3D") GRADER_CHECKED cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms *parameters, GRADER_PLACE);
GRADER_IMPORT("cudaMemcpy3DAsync") GRADER_CHECKED cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms *parameters, cudaStream_t stream = 0, GRADER_PLACE);
GRADER_IMPORT("cudaCreateTextureObject") GRADER_CHECKED cudaError_t cudaCreateTextureObject(cudaTextureObject_t *texture, const cudaResourceDesc *resource, const cudaTextureDesc *description, const cudaResourceViewDesc *view = 0, GRADER_PLACE);
GRADER_IMPORT("cudaDestroyTextureObject") GRADER_CHECKED cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture, GRADER_PLACE);
GRADER_IMPORT("cudaCreateSurfaceObject") GRADER_CHECKED cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *surface, const cudaResourceDesc *resource, GRADER_PLACE);
GRADER_IMPORT("cudaDestroySurfaceObject") GRADER_CHECKED cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surface, GRADER_PLACE);
GRADER_IMPORT("cudaGetChannelDesc") GRADER_CHECKED cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc *desc, cudaArray_const_t array, GRADER_PLACE);

inline cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind f) { return cudaChannelFormatDesc{x, y, z, w, f}; }
template <class T> struct grader_channels;
#define GRADER_CHANNELS_(T, BITS, KIND) \
    template <> struct grader_channels<T> { static cudaChannelFormatDesc make(int n = 1) { return {BITS, n > 1 ? BITS : 0, n > 2 ? BITS : 0, n > 3 ? BITS : 0, cudaChannelFormatKind##KIND}; } };
GRADER_CHANNELS_(char, 8, Signed)
GRADER_CHANNELS_(signed char, 8, Signed)
GRADER_CHANNELS_(unsigned char, 8, Unsigned)
GRADER_CHANNELS_(short, 16, Signed)
GRADER_CHANNELS_(unsigned short, 16, Unsigned)
GRADER_CHANNELS_(int, 32, Signed)
GRADER_CHANNELS_(unsigned, 32, Unsigned)
GRADER_CHANNELS_(float, 32, Float)
#undef GRADER_CHANNELS_
#define GRADER_VECTORS_(V, T) \
    template <> struct grader_channels<V##1> { static cudaChannelFormatDesc make() { return grader_channels<T>::make(1); } }; \
    template <> struct grader_channels<V##2> { static cudaChannelFormatDesc make() { return grader_channels<T>::make(2); } }; \
    template <> struct grader_channels<V##4> { static cudaChannelFormatDesc make() { return grader_channels<T>::make(4); } };
GRADER_VECTORS_(char, signed char)
GRADER_VECTORS_(uchar, unsigned char)
GRADER_VECTORS_(short, short)
GRADER_VECTORS_(ushort, unsigned short)
GRADER_VECTORS_(int, int)
GRADER_VECTORS_(uint, unsigned)
GRADER_VECTORS_(float, float)
#undef GRADER_VECTORS_
template <class T> inline cudaChannelFormatDesc cudaCreateChannelDesc() { return grader_channels<T>::make(); }
