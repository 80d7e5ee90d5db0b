// Where memory lies, pools that it comes from, and handles to it for other processes.
#pragma once
#include "grader_cuda_api.h"
enum cudaMemLocationType { cudaMemLocationTypeInvalid = 0, cudaMemLocationTypeNone = 0, cudaMemLocationTypeDevice = 1, cudaMemLocationTypeHost = 2, cudaMemLocationTypeHostNuma = 3, cudaMemLocationTypeHostNumaCurrent = 4 };
struct cudaMemLocation { cudaMemLocationType type; int id; };
enum cudaMemAllocationType { cudaMemAllocationTypeInvalid = 0, cudaMemAllocationTypePinned = 1, cudaMemAllocationTypeManaged = 2, cudaMemAllocationTypeMax = 0x7FFFFFFF };
enum cudaMemAllocationHandleType { cudaMemHandleTypeNone = 0, cudaMemHandleTypePosixFileDescriptor = 1, cudaMemHandleTypeWin32 = 2, cudaMemHandleTypeWin32Kmt = 4, cudaMemHandleTypeFabric = 8 };
enum cudaMemAccessFlags { cudaMemAccessFlagsProtNone = 0, cudaMemAccessFlagsProtRead = 1, cudaMemAccessFlagsProtReadWrite = 3 };
struct cudaMemAccessDesc { cudaMemLocation location; cudaMemAccessFlags flags; };
struct cudaMemPoolProps {
    cudaMemAllocationType allocType;
    cudaMemAllocationHandleType handleTypes;
    cudaMemLocation location;
    void *win32SecurityAttributes;
    size_t maxSize;
    unsigned short usage;
    unsigned char reserved[54];
};
enum cudaMemPoolAttr {
    cudaMemPoolReuseFollowEventDependencies = 1, cudaMemPoolReuseAllowOpportunistic = 2, cudaMemPoolReuseAllowInternalDependencies = 3,
    cudaMemPoolAttrReleaseThreshold = 4, cudaMemPoolAttrReservedMemCurrent = 5, cudaMemPoolAttrReservedMemHigh = 6,
    cudaMemPoolAttrUsedMemCurrent = 7, cudaMemPoolAttrUsedMemHigh = 8
};
struct CUmemPoolHandle_st;
typedef CUmemPoolHandle_st *cudaMemPool_t;
GRADER_IMPORT("cudaDeviceGetDefaultMemPool") GRADER_CHECKED cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device, GRADER_PLACE);
GRADER_IMPORT("cudaDeviceGetMemPool") GRADER_CHECKED cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int device, GRADER_PLACE);
GRADER_IMPORT("cudaDeviceSetMemPool") GRADER_CHECKED cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool, GRADER_PLACE);
GRADER_IMPORT("cudaMemPoolCreate") GRADER_CHECKED cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const cudaMemPoolProps *properties, GRADER_PLACE);
GRADER_IMPORT("cudaMemPoolDestroy") GRADER_CHECKED cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool, GRADER_PLACE);
GRADER_IMPORT("cudaMemPoolSetAttribute") GRADER_CHECKED cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr which, void *value, GRADER_PLACE);
GRADER_IMPORT("cudaMemPoolGetAttribute") GRADER_CHECKED cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr which, void *value, GRADER_PLACE);
GRADER_IMPORT("cudaMemPoolTrimTo") GRADER_CHECKED cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t least_bytes, GRADER_PLACE);
GRADER_IMPORT("cudaMemPoolSetAccess") GRADER_CHECKED cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc *access, size_t count, GRADER_PLACE);
GRADER_IMPORT("cudaMemPoolGetAccess") GRADER_CHECKED cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags *flags, cudaMemPool_t pool, cudaMemLocation *location, GRADER_PLACE);
GRADER_IMPORT("cudaMallocFromPoolAsync") GRADER_CHECKED cudaError_t cudaMallocFromPoolAsync(void **pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream, GRADER_PLACE);
template <class T> GRADER_CHECKED inline cudaError_t cudaMallocFromPoolAsync(T **p, size_t n, cudaMemPool_t pool, cudaStream_t s, GRADER_PLACE) { return cudaMallocFromPoolAsync((void **)p, n, pool, s, GRADER_HERE); }
template <class T> GRADER_CHECKED inline cudaError_t cudaMallocAsync(T **p, size_t n, cudaMemPool_t pool, cudaStream_t s, GRADER_PLACE) { return cudaMallocFromPoolAsync((void **)p, n, pool, s, GRADER_HERE); }
// As CUDA 13 has it; CUDA 12 called this `_v2`.
inline int grader_device_of(cudaMemLocation at) { return at.type == cudaMemLocationTypeDevice ? at.id : cudaCpuDeviceId; }
GRADER_CHECKED inline cudaError_t cudaMemAdvise(const void *p, size_t n, cudaMemoryAdvise advice, cudaMemLocation at, GRADER_PLACE) { return cudaMemAdvise(p, n, advice, grader_device_of(at), GRADER_HERE); }
GRADER_CHECKED inline cudaError_t cudaMemAdvise_v2(const void *p, size_t n, cudaMemoryAdvise advice, cudaMemLocation at, GRADER_PLACE) { return cudaMemAdvise(p, n, advice, grader_device_of(at), GRADER_HERE); }
GRADER_CHECKED inline cudaError_t grader_prefetch(const void *p, size_t n, cudaMemLocation at, cudaStream_t s, GRADER_PLACE) { return cudaMemPrefetchAsync(p, n, grader_device_of(at), s, GRADER_HERE); }
GRADER_CHECKED inline cudaError_t cudaMemPrefetchAsync(const void *p, size_t n, cudaMemLocation at, unsigned, cudaStream_t s = 0, grader_place here = grader_place(__builtin_LINE(), __builtin_FILE())) { return grader_prefetch(p, n, at, s, here.line, here.file); }
GRADER_CHECKED inline cudaError_t cudaMemPrefetchAsync_v2(const void *p, size_t n, cudaMemLocation at, unsigned, cudaStream_t s = 0, grader_place here = grader_place(__builtin_LINE(), __builtin_FILE())) { return grader_prefetch(p, n, at, s, here.line, here.file); }
// No other process could open them.
#define CUDA_IPC_HANDLE_SIZE 64
#define cudaIpcMemLazyEnablePeerAccess 1
struct cudaIpcMemHandle_t { char reserved[CUDA_IPC_HANDLE_SIZE]; };
struct cudaIpcEventHandle_t { char reserved[CUDA_IPC_HANDLE_SIZE]; };
GRADER_IMPORT("cudaIpcGetMemHandle") GRADER_CHECKED cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *pointer, GRADER_PLACE);
GRADER_IMPORT("cudaIpcOpenMemHandle") GRADER_CHECKED cudaError_t grader_cudaIpcOpenMemHandle(void **pointer, const cudaIpcMemHandle_t *handle, unsigned flags, int line, const char *file);
GRADER_CHECKED inline cudaError_t cudaIpcOpenMemHandle(void **p, cudaIpcMemHandle_t handle, unsigned flags, GRADER_PLACE) { return grader_cudaIpcOpenMemHandle(p, &handle, flags, GRADER_HERE); }
GRADER_IMPORT("cudaIpcCloseMemHandle") GRADER_CHECKED cudaError_t cudaIpcCloseMemHandle(void *pointer, GRADER_PLACE);
GRADER_IMPORT("cudaIpcGetEventHandle") GRADER_CHECKED cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t *handle, cudaEvent_t event, GRADER_PLACE);
GRADER_IMPORT("cudaIpcOpenEventHandle") GRADER_CHECKED cudaError_t grader_cudaIpcOpenEventHandle(cudaEvent_t *event, const cudaIpcEventHandle_t *handle, int line, const char *file);
GRADER_CHECKED inline cudaError_t cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t handle, GRADER_PLACE) { return grader_cudaIpcOpenEventHandle(event, &handle, GRADER_HERE); }
