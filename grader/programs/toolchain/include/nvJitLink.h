// nvJitLink by the driver's linker: see `grader_linking.h`.
#pragma once
#include "cuda.h"
typedef enum {
    NVJITLINK_SUCCESS = 0, NVJITLINK_ERROR_UNRECOGNIZED_OPTION = 1, NVJITLINK_ERROR_MISSING_ARCH = 2, NVJITLINK_ERROR_INVALID_INPUT = 3,
    NVJITLINK_ERROR_PTX_COMPILE = 4, NVJITLINK_ERROR_NVVM_COMPILE = 5, NVJITLINK_ERROR_INTERNAL = 6, NVJITLINK_ERROR_THREADPOOL = 7,
    NVJITLINK_ERROR_UNRECOGNIZED_INPUT = 8, NVJITLINK_ERROR_FINALIZE = 9, NVJITLINK_ERROR_NULL_INPUT = 10
} nvJitLinkResult;
typedef enum {
    NVJITLINK_INPUT_NONE = 0, NVJITLINK_INPUT_CUBIN = 1, NVJITLINK_INPUT_PTX = 2, NVJITLINK_INPUT_LTOIR = 3, NVJITLINK_INPUT_FATBIN = 4,
    NVJITLINK_INPUT_OBJECT = 5, NVJITLINK_INPUT_LIBRARY = 6, NVJITLINK_INPUT_INDEX = 7, NVJITLINK_INPUT_ANY = 10
} nvJitLinkInputType;
struct nvJitLink { CUlinkState link; void *image; size_t bytes; };
typedef nvJitLink *nvJitLinkHandle;
inline nvJitLinkResult nvJitLinkVersion(unsigned *major, unsigned *minor) { *major = 13; *minor = 0; return NVJITLINK_SUCCESS; }
inline nvJitLinkResult nvJitLinkCreate(nvJitLinkHandle *handle, uint32_t count, const char **options, GRADER_PLACE) {
    bool has_architecture = false;
    for (uint32_t i = 0; i < count; i++) has_architecture |= !strncmp(options[i], "-arch=", 6);
    if (!has_architecture) return NVJITLINK_ERROR_MISSING_ARCH;
    *handle = new nvJitLink{};
    return grader_link_create(&(*handle)->link, GRADER_HERE) ? NVJITLINK_ERROR_INTERNAL : NVJITLINK_SUCCESS;
}
inline nvJitLinkResult nvJitLinkDestroy(nvJitLinkHandle *handle, GRADER_PLACE) {
    CUresult result = cuLinkDestroy((*handle)->link, GRADER_HERE);
    delete *handle;
    *handle = nullptr;
    return result ? NVJITLINK_ERROR_INTERNAL : NVJITLINK_SUCCESS;
}
inline nvJitLinkResult nvJitLinkAddData(nvJitLinkHandle handle, nvJitLinkInputType, const void *data, size_t bytes, const char *, GRADER_PLACE) {
    return grader_link_add(handle->link, data, bytes, GRADER_HERE) ? NVJITLINK_ERROR_INVALID_INPUT : NVJITLINK_SUCCESS;
}
inline nvJitLinkResult nvJitLinkAddFile(nvJitLinkHandle handle, nvJitLinkInputType type, const char *path, GRADER_PLACE) {
    return cuLinkAddFile(handle->link, CU_JIT_INPUT_OBJECT, path, 0, nullptr, nullptr, GRADER_HERE) ? NVJITLINK_ERROR_INVALID_INPUT : NVJITLINK_SUCCESS;
}
inline nvJitLinkResult nvJitLinkComplete(nvJitLinkHandle handle, GRADER_PLACE) {
    return cuLinkComplete(handle->link, &handle->image, &handle->bytes, GRADER_HERE) ? NVJITLINK_ERROR_FINALIZE : NVJITLINK_SUCCESS;
}
inline nvJitLinkResult nvJitLinkGetLinkedPtxSize(nvJitLinkHandle handle, size_t *bytes) { *bytes = handle->bytes; return handle->image ? NVJITLINK_SUCCESS : NVJITLINK_ERROR_INTERNAL; }
inline nvJitLinkResult nvJitLinkGetLinkedPtx(nvJitLinkHandle handle, char *text) {
    if (!handle->image) return NVJITLINK_ERROR_INTERNAL;
    memcpy(text, handle->image, handle->bytes);
    return NVJITLINK_SUCCESS;
}
inline nvJitLinkResult nvJitLinkGetLinkedCubinSize(nvJitLinkHandle handle, size_t *bytes) { return nvJitLinkGetLinkedPtxSize(handle, bytes); }
inline nvJitLinkResult nvJitLinkGetLinkedCubin(nvJitLinkHandle handle, void *image) { return nvJitLinkGetLinkedPtx(handle, (char *)image); }
inline nvJitLinkResult nvJitLinkGetErrorLogSize(nvJitLinkHandle, size_t *bytes) { *bytes = 0; return NVJITLINK_SUCCESS; }
inline nvJitLinkResult nvJitLinkGetInfoLogSize(nvJitLinkHandle, size_t *bytes) { *bytes = 0; return NVJITLINK_SUCCESS; }
inline nvJitLinkResult nvJitLinkGetErrorLog(nvJitLinkHandle, char *) { return NVJITLINK_SUCCESS; }
inline nvJitLinkResult nvJitLinkGetInfoLog(nvJitLinkHandle, char *) { return NVJITLINK_SUCCESS; }
