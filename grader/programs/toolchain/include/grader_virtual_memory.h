// Virtual memory of the driver: what is reserved is memory of its own, into which a mapping brings what its handle holds.
// A handle is mapped at one place at a time; what a place allows nobody looks at.
#pragma once
typedef unsigned long long CUmemGenericAllocationHandle;
typedef enum CUmemAllocationType { CU_MEM_ALLOCATION_TYPE_INVALID = 0, CU_MEM_ALLOCATION_TYPE_PINNED = 1, CU_MEM_ALLOCATION_TYPE_MANAGED = 2 } CUmemAllocationType;
typedef enum CUmemLocationType { CU_MEM_LOCATION_TYPE_INVALID = 0, CU_MEM_LOCATION_TYPE_NONE = 0, CU_MEM_LOCATION_TYPE_DEVICE = 1, CU_MEM_LOCATION_TYPE_HOST = 2, CU_MEM_LOCATION_TYPE_HOST_NUMA = 3, CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT = 4 } CUmemLocationType;
typedef enum CUmemAllocationHandleType { CU_MEM_HANDLE_TYPE_NONE = 0, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR = 1, CU_MEM_HANDLE_TYPE_WIN32 = 2, CU_MEM_HANDLE_TYPE_WIN32_KMT = 4, CU_MEM_HANDLE_TYPE_FABRIC = 8 } CUmemAllocationHandleType;
typedef enum CUmemAccess_flags { CU_MEM_ACCESS_FLAGS_PROT_NONE = 0, CU_MEM_ACCESS_FLAGS_PROT_READ = 1, CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3 } CUmemAccess_flags;
typedef enum CUmemAllocationGranularity_flags { CU_MEM_ALLOC_GRANULARITY_MINIMUM = 0, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED = 1 } CUmemAllocationGranularity_flags;
typedef enum CUmemAllocationCompType { CU_MEM_ALLOCATION_COMP_NONE = 0, CU_MEM_ALLOCATION_COMP_GENERIC = 1 } CUmemAllocationCompType;
typedef struct CUmemLocation { CUmemLocationType type; int id; } CUmemLocation;
typedef struct CUmemAccessDesc { CUmemLocation location; CUmemAccess_flags flags; } CUmemAccessDesc;
typedef struct CUmemAllocationProp {
    CUmemAllocationType type;
    CUmemAllocationHandleType requestedHandleTypes;
    CUmemLocation location;
    void *win32HandleMetaData;
    struct { unsigned char compressionType, gpuDirectRDMACapable; unsigned short usage; unsigned char reserved[4]; } allocFlags;
} CUmemAllocationProp;
// Physical memory: while it is mapped nowhere, what it holds is in `kept`, null before it was ever mapped.
struct grader_physical { size_t bytes; CUmemAllocationProp properties; CUdeviceptr at; void *kept; int references; grader_physical *next; };
inline grader_physical *grader_all_physical = nullptr;
const size_t grader_granularity = 2 << 20;
inline grader_physical *grader_physical_of(CUmemGenericAllocationHandle handle) {
    grader_physical *found = grader_all_physical;
    while (found && (CUmemGenericAllocationHandle)found != handle) found = found->next;
    return found;
}
inline void grader_let_go(grader_physical *what, int _line, const char *_file) {
    if (what->references || what->at) return;
    if (what->kept) (void)cudaFree(what->kept, GRADER_HERE);
    grader_physical **link = &grader_all_physical;
    while (*link != what) link = &(*link)->next;
    *link = what->next;
    delete what;
}
inline CUresult cuMemGetAllocationGranularity(size_t *bytes, const CUmemAllocationProp *properties, CUmemAllocationGranularity_flags) {
    if (!bytes || !properties || properties->type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
    *bytes = grader_granularity;
    return CUDA_SUCCESS;
}
// Where the program would have it is a wish: it gets another place.
inline CUresult cuMemAddressReserve(CUdeviceptr *p, size_t bytes, size_t alignment, CUdeviceptr, unsigned long long flags, GRADER_PLACE) {
    if (!p || !bytes || bytes % grader_granularity || alignment & (alignment - 1) || flags) return CUDA_ERROR_INVALID_VALUE;
    return (CUresult)cudaMalloc((void **)p, bytes, GRADER_HERE);
}
inline CUresult cuMemAddressFree(CUdeviceptr p, size_t bytes, GRADER_PLACE) {
    for (grader_physical *one = grader_all_physical; one; one = one->next)
        if (one->at && one->at >= p && one->at < p + bytes) return CUDA_ERROR_INVALID_VALUE;
    return (CUresult)cudaFree((void *)p, GRADER_HERE);
}
inline CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes, const CUmemAllocationProp *properties, unsigned long long flags) {
    if (!handle || !properties || !bytes || bytes % grader_granularity || flags) return CUDA_ERROR_INVALID_VALUE;
    if (properties->type != CU_MEM_ALLOCATION_TYPE_PINNED || properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
    grader_all_physical = new grader_physical{bytes, *properties, 0, nullptr, 1, grader_all_physical};
    *handle = (CUmemGenericAllocationHandle)grader_all_physical;
    return CUDA_SUCCESS;
}
inline CUresult cuMemRelease(CUmemGenericAllocationHandle handle, GRADER_PLACE) {
    grader_physical *what = grader_physical_of(handle);
    if (!what || !what->references) return CUDA_ERROR_INVALID_VALUE;
    what->references--;
    grader_let_go(what, GRADER_HERE);
    return CUDA_SUCCESS;
}
inline CUresult cuMemMap(CUdeviceptr p, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long flags, GRADER_PLACE) {
    grader_physical *what = grader_physical_of(handle);
    if (!what || !p || offset || bytes != what->bytes || flags) return CUDA_ERROR_INVALID_VALUE;
    if (what->at) return CUDA_ERROR_NOT_SUPPORTED;
    if (what->kept) {
        cudaError_t result = cudaMemcpy((void *)p, what->kept, bytes, cudaMemcpyDeviceToDevice, GRADER_HERE);
        if (result != cudaSuccess) return (CUresult)result;
        (void)cudaFree(what->kept, GRADER_HERE);
        what->kept = nullptr;
    }
    what->at = p;
    return CUDA_SUCCESS;
}
inline CUresult cuMemUnmap(CUdeviceptr p, size_t bytes, GRADER_PLACE) {
    bool was_mapped = false;
    for (grader_physical *one = grader_all_physical, *next; one; one = next) {
        next = one->next;
        if (!one->at || one->at < p || one->at >= p + bytes) continue;
        was_mapped = true;
        if (one->references) {
            cudaError_t result = cudaMalloc(&one->kept, one->bytes, GRADER_HERE);
            if (result == cudaSuccess) result = cudaMemcpy(one->kept, (void *)one->at, one->bytes, cudaMemcpyDeviceToDevice, GRADER_HERE);
            if (result != cudaSuccess) return (CUresult)result;
        }
        one->at = 0;
        grader_let_go(one, GRADER_HERE);
    }
    if (was_mapped) return CUDA_SUCCESS;
    // As on an H200: where addresses are reserved and nothing is mapped, there is nothing to do.
    cudaPointerAttributes attributes;
    const cudaError_t result = cudaPointerGetAttributes(&attributes, (void *)p);
    return result == cudaSuccess && attributes.type == cudaMemoryTypeDevice ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
inline CUresult cuMemSetAccess(CUdeviceptr p, size_t bytes, const CUmemAccessDesc *wanted, size_t count) {
    if (!wanted || !count) return CUDA_ERROR_INVALID_VALUE;
    for (grader_physical *one = grader_all_physical; one; one = one->next)
        if (one->at && one->at < p + bytes && p < one->at + one->bytes) return CUDA_SUCCESS;
    return CUDA_ERROR_INVALID_VALUE;
}
inline CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *p) {
    for (grader_physical *one = grader_all_physical; one; one = one->next)
        if (one->at && (CUdeviceptr)p - one->at < one->bytes) {
            one->references++;
            *handle = (CUmemGenericAllocationHandle)one;
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_INVALID_VALUE;
}
inline CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *properties, CUmemGenericAllocationHandle handle) {
    grader_physical *what = grader_physical_of(handle);
    if (!what || !properties) return CUDA_ERROR_INVALID_VALUE;
    *properties = what->properties;
    return CUDA_SUCCESS;
}
