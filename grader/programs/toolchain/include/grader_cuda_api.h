// The CUDA runtime API for host code.  Every call tells its place; whoever serves it lies outside the program.
#pragma once
#include "grader_cuda_types.h"

#define GRADER_PLACE int _line = __builtin_LINE(), const char *_file = __builtin_FILE()
#define GRADER_HERE _line, _file
// The same where a second function takes a number in its place, be it 0 or NULL.
struct grader_place { int line; const char *file; explicit constexpr grader_place(int l, const char *f) : line(l), file(f) {} };
#define GRADER_IMPORT(name) __attribute__((import_module("cuda"), import_name(name)))
#define GRADER_CHECKED __attribute__((warn_unused_result))

GRADER_IMPORT("cudaGetDeviceCount") GRADER_CHECKED cudaError_t cudaGetDeviceCount(int *count, GRADER_PLACE);
GRADER_IMPORT("cudaGetDevice") GRADER_CHECKED cudaError_t cudaGetDevice(int *device, GRADER_PLACE);
GRADER_IMPORT("cudaSetDevice") GRADER_CHECKED cudaError_t cudaSetDevice(int device, GRADER_PLACE);
GRADER_IMPORT("cudaGetDeviceProperties") GRADER_CHECKED cudaError_t cudaGetDeviceProperties(cudaDeviceProp *prop, int device, GRADER_PLACE);
GRADER_IMPORT("cudaDeviceGetAttribute") GRADER_CHECKED cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device, GRADER_PLACE);
GRADER_IMPORT("cudaChooseDevice") GRADER_CHECKED cudaError_t cudaChooseDevice(int *device, const cudaDeviceProp *prop, GRADER_PLACE);
GRADER_IMPORT("cudaDeviceSynchronize") GRADER_CHECKED cudaError_t cudaDeviceSynchronize(GRADER_PLACE);
GRADER_IMPORT("cudaThreadSynchronize") GRADER_CHECKED cudaError_t cudaThreadSynchronize(GRADER_PLACE);
GRADER_IMPORT("cudaDeviceReset") GRADER_CHECKED cudaError_t cudaDeviceReset(GRADER_PLACE);
GRADER_IMPORT("cudaThreadExit") GRADER_CHECKED cudaError_t cudaThreadExit(GRADER_PLACE);
GRADER_IMPORT("cudaSetDeviceFlags") GRADER_CHECKED cudaError_t cudaSetDeviceFlags(unsigned flags, GRADER_PLACE);
GRADER_IMPORT("cudaGetDeviceFlags") GRADER_CHECKED cudaError_t cudaGetDeviceFlags(unsigned *flags, GRADER_PLACE);
GRADER_IMPORT("cudaInitDevice") GRADER_CHECKED cudaError_t cudaInitDevice(int device, unsigned device_flags, unsigned flags, GRADER_PLACE);
GRADER_IMPORT("cudaDeviceGetByPCIBusId") GRADER_CHECKED cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *id, GRADER_PLACE);
GRADER_IMPORT("cudaSetValidDevices") GRADER_CHECKED cudaError_t cudaSetValidDevices(int *devices, int count, GRADER_PLACE);
GRADER_IMPORT("cudaDeviceSetLimit") GRADER_CHECKED cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value, GRADER_PLACE);
GRADER_IMPORT("cudaDeviceGetLimit") GRADER_CHECKED cudaError_t cudaDeviceGetLimit(size_t *value, cudaLimit limit, GRADER_PLACE);
GRADER_IMPORT("cudaDeviceSetCacheConfig") GRADER_CHECKED cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache config, GRADER_PLACE);
GRADER_IMPORT("cudaDeviceGetCacheConfig") GRADER_CHECKED cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache *config, GRADER_PLACE);
GRADER_IMPORT("cudaDeviceSetSharedMemConfig") GRADER_CHECKED cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig config, GRADER_PLACE);
GRADER_IMPORT("cudaDeviceGetSharedMemConfig") GRADER_CHECKED cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig *config, GRADER_PLACE);
GRADER_IMPORT("cudaDriverGetVersion") GRADER_CHECKED cudaError_t cudaDriverGetVersion(int *version, GRADER_PLACE);
GRADER_IMPORT("cudaRuntimeGetVersion") GRADER_CHECKED cudaError_t cudaRuntimeGetVersion(int *version, GRADER_PLACE);
GRADER_IMPORT("cudaDeviceGetStreamPriorityRange") GRADER_CHECKED cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest, GRADER_PLACE);
GRADER_IMPORT("cudaDeviceGetP2PAttribute") GRADER_CHECKED cudaError_t cudaDeviceGetP2PAttribute(int *value, cudaDeviceP2PAttr attribute, int device, int peer, GRADER_PLACE);
GRADER_IMPORT("cudaDeviceDisablePeerAccess") cudaError_t cudaDeviceDisablePeerAccess(int peer, GRADER_PLACE);
GRADER_IMPORT("cudaDeviceCanAccessPeer") GRADER_CHECKED cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer, GRADER_PLACE);
GRADER_IMPORT("cudaDeviceEnablePeerAccess") GRADER_CHECKED cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags, GRADER_PLACE);
GRADER_IMPORT("cudaDeviceGetPCIBusId") GRADER_CHECKED cudaError_t cudaDeviceGetPCIBusId(char *id, int length, int device, GRADER_PLACE);
GRADER_IMPORT("cudaMemGetInfo") GRADER_CHECKED cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total, GRADER_PLACE);
GRADER_IMPORT("cudaProfilerStart") GRADER_CHECKED cudaError_t cudaProfilerStart(GRADER_PLACE);
GRADER_IMPORT("cudaProfilerStop") GRADER_CHECKED cudaError_t cudaProfilerStop(GRADER_PLACE);
GRADER_IMPORT("cudaGetLastError") GRADER_CHECKED cudaError_t cudaGetLastError(GRADER_PLACE);
GRADER_IMPORT("cudaPeekAtLastError") GRADER_CHECKED cudaError_t cudaPeekAtLastError(GRADER_PLACE);
GRADER_IMPORT("cudaMalloc") GRADER_CHECKED cudaError_t cudaMalloc(void **pointer, size_t bytes, GRADER_PLACE);
GRADER_IMPORT("cudaMallocAsync") GRADER_CHECKED cudaError_t cudaMallocAsync(void **pointer, size_t bytes, cudaStream_t stream, GRADER_PLACE);
GRADER_IMPORT("cudaFree") GRADER_CHECKED cudaError_t cudaFree(void *pointer, GRADER_PLACE);
GRADER_IMPORT("cudaFreeAsync") GRADER_CHECKED cudaError_t cudaFreeAsync(void *pointer, cudaStream_t stream, GRADER_PLACE);
GRADER_IMPORT("cudaMallocHost") GRADER_CHECKED cudaError_t cudaMallocHost(void **pointer, size_t bytes, unsigned flags = 0, GRADER_PLACE);
GRADER_IMPORT("cudaHostAlloc") GRADER_CHECKED cudaError_t cudaHostAlloc(void **pointer, size_t bytes, unsigned flags, GRADER_PLACE);
GRADER_IMPORT("cudaFreeHost") GRADER_CHECKED cudaError_t cudaFreeHost(void *pointer, GRADER_PLACE);
GRADER_IMPORT("cudaMallocManaged") GRADER_CHECKED cudaError_t cudaMallocManaged(void **pointer, size_t bytes, unsigned flags = 1, GRADER_PLACE);
GRADER_IMPORT("cudaMallocPitch") GRADER_CHECKED cudaError_t cudaMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height, GRADER_PLACE);
GRADER_IMPORT("cudaMalloc3D") GRADER_CHECKED cudaError_t cudaMalloc3D(cudaPitchedPtr *pitched, cudaExtent extent, GRADER_PLACE);
GRADER_IMPORT("cudaHostGetDevicePointer") GRADER_CHECKED cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned flags, GRADER_PLACE);
GRADER_IMPORT("cudaHostGetFlags") GRADER_CHECKED cudaError_t cudaHostGetFlags(unsigned *flags, void *host, GRADER_PLACE);
GRADER_IMPORT("cudaHostRegister") GRADER_CHECKED cudaError_t cudaHostRegister(void *pointer, size_t bytes, unsigned flags, GRADER_PLACE);
GRADER_IMPORT("cudaHostUnregister") GRADER_CHECKED cudaError_t cudaHostUnregister(void *pointer, GRADER_PLACE);
GRADER_IMPORT("cudaPointerGetAttributes") GRADER_CHECKED cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *attributes, const void *pointer, GRADER_PLACE);
GRADER_IMPORT("cudaMemset") GRADER_CHECKED cudaError_t cudaMemset(void *pointer, int value, size_t bytes, GRADER_PLACE);
GRADER_IMPORT("cudaMemsetAsync") GRADER_CHECKED cudaError_t cudaMemsetAsync(void *pointer, int value, size_t bytes, cudaStream_t stream = 0, GRADER_PLACE);
GRADER_IMPORT("cudaMemset2D") GRADER_CHECKED cudaError_t cudaMemset2D(void *pointer, size_t pitch, int value, size_t width, size_t height, GRADER_PLACE);
GRADER_IMPORT("cudaMemset2DAsync") GRADER_CHECKED cudaError_t cudaMemset2DAsync(void *pointer, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream = 0, GRADER_PLACE);
GRADER_IMPORT("cudaMemcpy") GRADER_CHECKED cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, GRADER_PLACE);
GRADER_IMPORT("cudaMemcpyAsync") GRADER_CHECKED cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream = 0, GRADER_PLACE);
GRADER_IMPORT("cudaMemcpy2D") GRADER_CHECKED cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, cudaMemcpyKind kind, GRADER_PLACE);
GRADER_IMPORT("cudaMemcpy2DAsync") GRADER_CHECKED cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream = 0, GRADER_PLACE);
GRADER_IMPORT("cudaMemcpyPeer") GRADER_CHECKED cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t bytes, GRADER_PLACE);
GRADER_IMPORT("cudaMemcpyPeerAsync") GRADER_CHECKED cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes, cudaStream_t stream = 0, GRADER_PLACE);
GRADER_IMPORT("cudaMemPrefetchAsync") GRADER_CHECKED cudaError_t cudaMemPrefetchAsync(const void *pointer, size_t bytes, int device, cudaStream_t stream = 0, GRADER_PLACE);
GRADER_IMPORT("cudaMemAdvise") GRADER_CHECKED cudaError_t cudaMemAdvise(const void *pointer, size_t bytes, cudaMemoryAdvise advice, int device, GRADER_PLACE);
GRADER_IMPORT("cudaStreamCreate") GRADER_CHECKED cudaError_t cudaStreamCreate(cudaStream_t *stream, GRADER_PLACE);
GRADER_IMPORT("cudaStreamCreateWithFlags") GRADER_CHECKED cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags, GRADER_PLACE);
GRADER_IMPORT("cudaStreamCreateWithPriority") GRADER_CHECKED cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority, GRADER_PLACE);
GRADER_IMPORT("cudaStreamDestroy") GRADER_CHECKED cudaError_t cudaStreamDestroy(cudaStream_t stream, GRADER_PLACE);
GRADER_IMPORT("cudaStreamSynchronize") GRADER_CHECKED cudaError_t cudaStreamSynchronize(cudaStream_t stream, GRADER_PLACE);
GRADER_IMPORT("cudaStreamQuery") GRADER_CHECKED cudaError_t cudaStreamQuery(cudaStream_t stream, GRADER_PLACE);
GRADER_IMPORT("cudaStreamWaitEvent") GRADER_CHECKED cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0, GRADER_PLACE);
GRADER_IMPORT("cudaStreamAddCallback") GRADER_CHECKED cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *data, unsigned flags, GRADER_PLACE);
GRADER_IMPORT("cudaLaunchHostFunc") GRADER_CHECKED cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data, GRADER_PLACE);
GRADER_IMPORT("cudaStreamAttachMemAsync") GRADER_CHECKED cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void *pointer, size_t bytes = 0, unsigned flags = 4, GRADER_PLACE);
GRADER_IMPORT("cudaEventCreate") GRADER_CHECKED cudaError_t grader_cudaEventCreate(cudaEvent_t *event, int line, const char *file);
GRADER_CHECKED inline cudaError_t cudaEventCreate(cudaEvent_t *event, grader_place at = grader_place(__builtin_LINE(), __builtin_FILE())) { return grader_cudaEventCreate(event, at.line, at.file); }
GRADER_IMPORT("cudaEventCreateWithFlags") GRADER_CHECKED cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags, GRADER_PLACE);
GRADER_IMPORT("cudaEventRecord") GRADER_CHECKED cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = 0, GRADER_PLACE);
GRADER_IMPORT("cudaEventSynchronize") GRADER_CHECKED cudaError_t cudaEventSynchronize(cudaEvent_t event, GRADER_PLACE);
GRADER_IMPORT("cudaEventQuery") GRADER_CHECKED cudaError_t cudaEventQuery(cudaEvent_t event, GRADER_PLACE);
GRADER_IMPORT("cudaEventElapsedTime") GRADER_CHECKED cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t stop, GRADER_PLACE);
GRADER_IMPORT("cudaEventDestroy") GRADER_CHECKED cudaError_t cudaEventDestroy(cudaEvent_t event, GRADER_PLACE);
GRADER_IMPORT("cudaGetErrorString") const char *cudaGetErrorString(cudaError_t error);
GRADER_IMPORT("cudaGetErrorName") const char *cudaGetErrorName(cudaError_t error);
// A launch fails without a value to look at: it is asked for later.
GRADER_IMPORT("cudaLaunch") cudaError_t grader_cudaLaunch(const void *function, const void *configured, const void *sizes, unsigned count, const void *data, int line, const char *file);
// What the compiler makes of <<<...>>>: the configuration comes first, then the arguments, among them other launches, are
// computed, then they are set up, and the kernel is launched: one call out of here.
struct grader_configured { unsigned grid[3], block[3]; size_t shared_bytes; cudaStream_t stream; const char *file; int line; };
inline grader_configured grader_launches[128];
inline unsigned grader_launch_depth, grader_argument_count, grader_argument_sizes[512];
alignas(16) inline unsigned char grader_argument_data[32768];
inline cudaError_t cudaConfigureCall(dim3 grid, dim3 block, size_t shared_bytes = 0, cudaStream_t stream = 0, GRADER_PLACE) {
    if (grader_launch_depth == 128) return cudaErrorMissingConfiguration;
    grader_launches[grader_launch_depth++] = {{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared_bytes, stream, _file, _line};
    return cudaSuccess;
}
extern "C" __attribute__((used)) inline cudaError_t cudaSetupArgument(const void *argument, size_t size, size_t offset) {
    if (offset == 0) grader_argument_count = 0;
    if (grader_argument_count == 512 || offset + size > sizeof grader_argument_data) return cudaErrorInvalidValue;
    grader_argument_sizes[grader_argument_count++] = unsigned(size << 16 | offset);
    __builtin_memcpy(grader_argument_data + offset, argument, size);
    return cudaSuccess;
}
extern "C" __attribute__((used)) inline cudaError_t cudaLaunch(const void *function) {
    if (!grader_launch_depth) return cudaErrorMissingConfiguration;
    const grader_configured &c = grader_launches[--grader_launch_depth];
    unsigned count = grader_argument_count;
    grader_argument_count = 0;
    return grader_cudaLaunch(function, &c, grader_argument_sizes, count, grader_argument_data, c.line, c.file);
}

GRADER_IMPORT("cudaMemcpyToSymbol") GRADER_CHECKED cudaError_t grader_cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset, cudaMemcpyKind kind, int line, const char *file);
GRADER_IMPORT("cudaMemcpyToSymbolAsync") GRADER_CHECKED cudaError_t grader_cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes, size_t offset, cudaMemcpyKind kind, cudaStream_t stream, int line, const char *file);
GRADER_IMPORT("cudaMemcpyFromSymbol") GRADER_CHECKED cudaError_t grader_cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset, cudaMemcpyKind kind, int line, const char *file);
GRADER_IMPORT("cudaMemcpyFromSymbolAsync") GRADER_CHECKED cudaError_t grader_cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t bytes, size_t offset, cudaMemcpyKind kind, cudaStream_t stream, int line, const char *file);
GRADER_IMPORT("cudaGetSymbolAddress") GRADER_CHECKED cudaError_t grader_cudaGetSymbolAddress(void **pointer, const void *symbol, int line, const char *file);
GRADER_IMPORT("cudaGetSymbolSize") GRADER_CHECKED cudaError_t grader_cudaGetSymbolSize(size_t *bytes, const void *symbol, int line, const char *file);
GRADER_IMPORT("cudaLaunchKernel") GRADER_CHECKED cudaError_t grader_cudaLaunchKernel(const void *function, const dim3 *grid, const dim3 *block, void **arguments, size_t shared_bytes, cudaStream_t stream, int line, const char *file);
GRADER_IMPORT("cudaLaunchCooperativeKernel") GRADER_CHECKED cudaError_t grader_cudaLaunchCooperativeKernel(const void *function, const dim3 *grid, const dim3 *block, void **arguments, size_t shared_bytes, cudaStream_t stream, int line, const char *file);
GRADER_IMPORT("cudaFuncSetAttribute") GRADER_CHECKED cudaError_t grader_cudaFuncSetAttribute(const void *function, cudaFuncAttribute attribute, int value, int line, const char *file);
GRADER_IMPORT("cudaFuncGetAttributes") GRADER_CHECKED cudaError_t grader_cudaFuncGetAttributes(cudaFuncAttributes *attributes, const void *function, int line, const char *file);
GRADER_IMPORT("cudaFuncGetName") GRADER_CHECKED cudaError_t grader_cudaFuncGetName(char **name, const void *function, char *room, size_t bytes, int line, const char *file);
GRADER_IMPORT("cudaFuncSetCacheConfig") GRADER_CHECKED cudaError_t grader_cudaFuncSetCacheConfig(const void *function, cudaFuncCache config, int line, const char *file);
GRADER_IMPORT("cudaFuncSetSharedMemConfig") GRADER_CHECKED cudaError_t grader_cudaFuncSetSharedMemConfig(const void *function, cudaSharedMemConfig config, int line, const char *file);
GRADER_IMPORT("cudaOccupancyMaxActiveBlocksPerMultiprocessor") GRADER_CHECKED cudaError_t grader_cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int block_size, size_t shared_bytes, int line, const char *file);
GRADER_IMPORT("cudaOccupancyAvailableDynamicSMemPerBlock") GRADER_CHECKED cudaError_t grader_cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *function, int blocks, int block_size, int line, const char *file);
GRADER_IMPORT("cudaOccupancyMaxPotentialBlockSize") GRADER_CHECKED cudaError_t grader_cudaOccupancyMaxPotentialBlockSize(int *grid, int *block, const void *function, size_t shared_bytes, int limit, int line, const char *file);

template <class T> GRADER_CHECKED inline cudaError_t cudaMalloc(T **p, size_t n, GRADER_PLACE) { return cudaMalloc((void **)p, n, GRADER_HERE); }
template <class T> GRADER_CHECKED inline cudaError_t cudaMallocAsync(T **p, size_t n, cudaStream_t s, GRADER_PLACE) { return cudaMallocAsync((void **)p, n, s, GRADER_HERE); }
template <class T> GRADER_CHECKED inline cudaError_t cudaMallocHost(T **p, size_t n, unsigned f = 0, GRADER_PLACE) { return cudaMallocHost((void **)p, n, f, GRADER_HERE); }
template <class T> GRADER_CHECKED inline cudaError_t cudaHostAlloc(T **p, size_t n, unsigned f, GRADER_PLACE) { return cudaHostAlloc((void **)p, n, f, GRADER_HERE); }
template <class T> GRADER_CHECKED inline cudaError_t cudaMallocManaged(T **p, size_t n, unsigned f = 1, GRADER_PLACE) { return cudaMallocManaged((void **)p, n, f, GRADER_HERE); }
template <class T> GRADER_CHECKED inline cudaError_t cudaMallocPitch(T **p, size_t *pitch, size_t w, size_t h, GRADER_PLACE) { return cudaMallocPitch((void **)p, pitch, w, h, GRADER_HERE); }
template <class T> GRADER_CHECKED inline cudaError_t cudaHostGetDevicePointer(T **p, void *h, unsigned f, GRADER_PLACE) { return cudaHostGetDevicePointer((void **)p, h, f, GRADER_HERE); }
template <class T> GRADER_CHECKED inline cudaError_t cudaMemcpyToSymbol(const T &s, const void *from, size_t n, size_t offset = 0, cudaMemcpyKind k = cudaMemcpyHostToDevice, GRADER_PLACE) { return grader_cudaMemcpyToSymbol((const void *)&s, from, n, offset, k, GRADER_HERE); }
template <class T> GRADER_CHECKED inline cudaError_t cudaMemcpyToSymbolAsync(const T &s, const void *from, size_t n, size_t offset = 0, cudaMemcpyKind k = cudaMemcpyHostToDevice, cudaStream_t st = 0, GRADER_PLACE) { return grader_cudaMemcpyToSymbolAsync((const void *)&s, from, n, offset, k, st, GRADER_HERE); }
template <class T> GRADER_CHECKED inline cudaError_t cudaMemcpyFromSymbol(void *to, const T &s, size_t n, size_t offset = 0, cudaMemcpyKind k = cudaMemcpyDeviceToHost, GRADER_PLACE) { return grader_cudaMemcpyFromSymbol(to, (const void *)&s, n, offset, k, GRADER_HERE); }
template <class T> GRADER_CHECKED inline cudaError_t cudaMemcpyFromSymbolAsync(void *to, const T &s, size_t n, size_t offset = 0, cudaMemcpyKind k = cudaMemcpyDeviceToHost, cudaStream_t st = 0, GRADER_PLACE) { return grader_cudaMemcpyFromSymbolAsync(to, (const void *)&s, n, offset, k, st, GRADER_HERE); }
template <class T, class U> GRADER_CHECKED inline cudaError_t cudaGetSymbolAddress(U **p, const T &s, GRADER_PLACE) { return grader_cudaGetSymbolAddress((void **)p, (const void *)&s, GRADER_HERE); }
template <class T> GRADER_CHECKED inline cudaError_t cudaGetSymbolSize(size_t *n, const T &s, GRADER_PLACE) { return grader_cudaGetSymbolSize(n, (const void *)&s, GRADER_HERE); }
template <class F> GRADER_CHECKED inline cudaError_t cudaLaunchKernel(F f, dim3 g, dim3 b, void **a, size_t n = 0, cudaStream_t s = 0, GRADER_PLACE) { return grader_cudaLaunchKernel((const void *)f, &g, &b, a, n, s, GRADER_HERE); }
template <class F> GRADER_CHECKED inline cudaError_t cudaLaunchCooperativeKernel(F f, dim3 g, dim3 b, void **a, size_t n = 0, cudaStream_t s = 0, GRADER_PLACE) { return grader_cudaLaunchCooperativeKernel((const void *)f, &g, &b, a, n, s, GRADER_HERE); }
template <class F> GRADER_CHECKED inline cudaError_t cudaFuncSetAttribute(F f, cudaFuncAttribute a, int v, GRADER_PLACE) { return grader_cudaFuncSetAttribute((const void *)f, a, v, GRADER_HERE); }
template <class F> GRADER_CHECKED inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *a, F f, GRADER_PLACE) { return grader_cudaFuncGetAttributes(a, (const void *)f, GRADER_HERE); }
template <class F> GRADER_CHECKED inline cudaError_t cudaFuncGetName(const char **name, F f, GRADER_PLACE) { return grader_cudaFuncGetName((char **)name, (const void *)f, (char *)malloc(4096), 4096, GRADER_HERE); }
template <class F> inline cudaError_t cudaFuncSetCacheConfig(F f, cudaFuncCache c, GRADER_PLACE) { return grader_cudaFuncSetCacheConfig((const void *)f, c, GRADER_HERE); }
template <class F> inline cudaError_t cudaFuncSetSharedMemConfig(F f, cudaSharedMemConfig c, GRADER_PLACE) { return grader_cudaFuncSetSharedMemConfig((const void *)f, c, GRADER_HERE); }
template <class F> GRADER_CHECKED inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *n, F f, int b, size_t s, GRADER_PLACE) { return grader_cudaOccupancyMaxActiveBlocksPerMultiprocessor(n, (const void *)f, b, s, GRADER_HERE); }
template <class F> GRADER_CHECKED inline cudaError_t cudaOccupancyMaxPotentialBlockSize(int *g, int *b, F f, size_t s = 0, int limit = 0, GRADER_PLACE) { return grader_cudaOccupancyMaxPotentialBlockSize(g, b, (const void *)f, s, limit, GRADER_HERE); }
template <class F> GRADER_CHECKED inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *n, F f, int b, size_t s, unsigned, GRADER_PLACE) { return grader_cudaOccupancyMaxActiveBlocksPerMultiprocessor(n, (const void *)f, b, s, GRADER_HERE); }
template <class F> GRADER_CHECKED inline cudaError_t cudaOccupancyMaxPotentialBlockSizeWithFlags(int *g, int *b, F f, size_t s = 0, int limit = 0, unsigned = 0, GRADER_PLACE) { return grader_cudaOccupancyMaxPotentialBlockSize(g, b, (const void *)f, s, limit, GRADER_HERE); }
template <class F> GRADER_CHECKED inline cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *n, F f, int blocks, int b, GRADER_PLACE) { return grader_cudaOccupancyAvailableDynamicSMemPerBlock(n, (const void *)f, blocks, b, GRADER_HERE); }
// Shared memory by the size of a block: the largest number of threads that are resident, and of these the largest block.
template <class S, class F> GRADER_CHECKED inline cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int *g, int *b, F f, S shared_bytes, int limit = 0, GRADER_PLACE) {
    int best = 0, count, device, processors, whole, resident = 0;
    cudaError_t error = grader_cudaOccupancyMaxPotentialBlockSize(g, &whole, (const void *)f, 0, limit, GRADER_HERE);
    if (!error) error = cudaGetDevice(&device, GRADER_HERE);
    if (!error) error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device, GRADER_HERE);
    if (limit <= 0 || limit > 1024) limit = 1024;
    for (int size = (limit + 31) / 32 * 32; size > 0 && !error; size -= 32) {
        int threads = size < limit ? size : limit;
        error = grader_cudaOccupancyMaxActiveBlocksPerMultiprocessor(&count, (const void *)f, threads, shared_bytes(threads), GRADER_HERE);
        if (count * threads > best) { best = count * threads; *b = threads; resident = count; }
    }
    *g = resident * processors;
    return error;
}
template <class S, class F> GRADER_CHECKED inline cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(int *g, int *b, F f, S shared_bytes, int limit = 0, unsigned = 0, GRADER_PLACE) { return cudaOccupancyMaxPotentialBlockSizeVariableSMem(g, b, f, shared_bytes, limit, GRADER_HERE); }
inline cudaError_t cudaEventCreate(cudaEvent_t *event, unsigned flags, GRADER_PLACE) { return cudaEventCreateWithFlags(event, flags, GRADER_HERE); }
inline cudaExtent make_cudaExtent(size_t w, size_t h, size_t d) { return cudaExtent{w, h, d}; }
inline cudaPos make_cudaPos(size_t x, size_t y, size_t z) { return cudaPos{x, y, z}; }
inline cudaPitchedPtr make_cudaPitchedPtr(void *p, size_t pitch, size_t x, size_t y) { return cudaPitchedPtr{p, pitch, x, y}; }

GRADER_IMPORT("cudaMemset3D") GRADER_CHECKED cudaError_t grader_cudaMemset3D(const cudaPitchedPtr *pitched, int value, const cudaExtent *extent, cudaStream_t stream, int line, const char *file);
GRADER_IMPORT("cudaMemcpy3D") GRADER_CHECKED cudaError_t grader_cudaMemcpy3D(const cudaMemcpy3DParms *parameters, cudaStream_t stream, int blocking, int line, const char *file);
GRADER_IMPORT("cudaMallocArray") GRADER_CHECKED cudaError_t grader_cudaMallocArray(cudaArray_t *array, const cudaChannelFormatDesc *desc, size_t width, size_t height, size_t depth, unsigned flags, int line, const char *file);
GRADER_IMPORT("cudaFreeArray") GRADER_CHECKED cudaError_t cudaFreeArray(cudaArray_t array, GRADER_PLACE);
GRADER_IMPORT("cudaMemcpy2DToArray") GRADER_CHECKED cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x_bytes, size_t y, const void *from, size_t pitch, size_t width, size_t height, cudaMemcpyKind kind, GRADER_PLACE);
GRADER_IMPORT("cudaMemcpy2DFromArray") GRADER_CHECKED cudaError_t cudaMemcpy2DFromArray(void *to, size_t pitch, cudaArray_const_t from, size_t x_bytes, size_t y, size_t width, size_t height, cudaMemcpyKind kind, GRADER_PLACE);
GRADER_IMPORT("cudaMemcpyToArray") GRADER_CHECKED cudaError_t cudaMemcpyToArray(cudaArray_t to, size_t x_bytes, size_t y, const void *from, size_t bytes, cudaMemcpyKind kind, GRADER_PLACE);
GRADER_IMPORT("cudaMemcpyFromArray") GRADER_CHECKED cudaError_t cudaMemcpyFromArray(void *to, cudaArray_const_t from, size_t x_bytes, size_t y, size_t bytes, cudaMemcpyKind kind, GRADER_PLACE);
inline cudaError_t cudaMemset3D(cudaPitchedPtr p, int v, cudaExtent e, GRADER_PLACE) { return grader_cudaMemset3D(&p, v, &e, 0, GRADER_HERE); }
inline cudaError_t cudaMemset3DAsync(cudaPitchedPtr p, int v, cudaExtent e, cudaStream_t s = 0, GRADER_PLACE) { return grader_cudaMemset3D(&p, v, &e, s, GRADER_HERE); }
inline cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms *p, GRADER_PLACE) { return grader_cudaMemcpy3D(p, 0, 1, GRADER_HERE); }
inline cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms *p, cudaStream_t s = 0, GRADER_PLACE) { return grader_cudaMemcpy3D(p, s, 0, GRADER_HERE); }
inline cudaError_t cudaMallocArray(cudaArray_t *a, const cudaChannelFormatDesc *d, size_t w, size_t h = 0, unsigned f = 0, GRADER_PLACE) { return grader_cudaMallocArray(a, d, w, h, 0, f, GRADER_HERE); }
inline cudaError_t cudaMalloc3DArray(cudaArray_t *a, const cudaChannelFormatDesc *d, cudaExtent e, unsigned f = 0, GRADER_PLACE) { return grader_cudaMallocArray(a, d, e.width, e.height, e.depth, f, GRADER_HERE); }
inline cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind f) { return cudaChannelFormatDesc{x, y, z, w, f}; }
template <class T> struct grader_channels { static constexpr int count = 1; typedef T of; };
#define GRADER_CHANNELS_(T, n) template <> struct grader_channels<T##n> { static constexpr int count = n; typedef decltype(T##n::x) of; };
#define GRADER_CHANNELS(T) GRADER_CHANNELS_(T, 1) GRADER_CHANNELS_(T, 2) GRADER_CHANNELS_(T, 3) GRADER_CHANNELS_(T, 4)
GRADER_CHANNELS(char) GRADER_CHANNELS(uchar) GRADER_CHANNELS(short) GRADER_CHANNELS(ushort) GRADER_CHANNELS(int) GRADER_CHANNELS(uint) GRADER_CHANNELS(float)
template <class T> inline cudaChannelFormatDesc cudaCreateChannelDesc() {
    typedef typename grader_channels<T>::of of;
    const int n = grader_channels<T>::count, b = 8 * sizeof(of);
    cudaChannelFormatKind f = of(0.5) != of(0) ? cudaChannelFormatKindFloat : of(-1) < of(0) ? cudaChannelFormatKindSigned : cudaChannelFormatKindUnsigned;
    return cudaChannelFormatDesc{b, n > 1 ? b : 0, n > 2 ? b : 0, n > 3 ? b : 0, f};
}
// The first parameter tells its place: nothing can stand behind a pack.
struct grader_config {
    const cudaLaunchConfig_t *config;
    int line;
    const char *file;
    grader_config(const cudaLaunchConfig_t *c, GRADER_PLACE) : config(c), line(_line), file(_file) {}
};
inline cudaError_t grader_launch_ex(grader_config c, const void *function, void **arguments) {
    bool together = false;
    for (unsigned i = 0; i < c.config->numAttrs; i++)
        together |= c.config->attrs[i].id == cudaLaunchAttributeCooperative && c.config->attrs[i].val.cooperative;
    auto launch = together ? grader_cudaLaunchCooperativeKernel : grader_cudaLaunchKernel;
    return launch(function, &c.config->gridDim, &c.config->blockDim, arguments, c.config->dynamicSmemBytes, c.config->stream, c.line, c.file);
}
template <class... P, class... A> GRADER_CHECKED inline cudaError_t cudaLaunchKernelEx(grader_config c, void (*kernel)(P...), A &&...a) {
    return [&](P... values) { void *arguments[] = {(void *)&values..., nullptr}; return grader_launch_ex(c, (const void *)kernel, arguments); }(static_cast<A &&>(a)...);
}
inline cudaError_t cudaLaunchKernelExC(grader_config c, const void *function, void **arguments) { return grader_launch_ex(c, function, arguments); }

GRADER_IMPORT("registerManaged") int grader_register_managed(const void *variable, size_t size, const char *name, GRADER_PLACE);
// With CUDA's own types, for who takes an address; a call takes what is no template first.
template <class = void> cudaError_t cudaMalloc(void **p, size_t n) { return cudaMalloc(p, n, 0, ""); }
template <class = void> cudaError_t cudaMallocHost(void **p, size_t n) { return cudaMallocHost(p, n, 0u, 0, ""); }
template <class = void> cudaError_t cudaFree(void *p) { return cudaFree(p, 0, ""); }
template <class = void> cudaError_t cudaFreeHost(void *p) { return cudaFreeHost(p, 0, ""); }
