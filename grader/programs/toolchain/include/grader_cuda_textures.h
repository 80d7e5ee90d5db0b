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
GRADER_IMPORT("cudaGetChannelDesc") GRADER_CHECKED cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc *desc, cudaArray_const_t array, GRADER_PLACE);
