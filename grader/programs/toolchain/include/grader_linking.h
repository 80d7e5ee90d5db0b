// The driver's linker, and nvJitLink, which is another name for it here: what is linked is PTX.
#pragma once
struct CUlinkState_st;
typedef CUlinkState_st *CUlinkState;
enum CUjitInputType {
    CU_JIT_INPUT_CUBIN = 0, CU_JIT_INPUT_PTX = 1, CU_JIT_INPUT_FATBINARY = 2, CU_JIT_INPUT_OBJECT = 3,
    CU_JIT_INPUT_LIBRARY = 4, CU_JIT_INPUT_NVVM = 5, CU_JIT_NUM_INPUT_TYPES = 6
};
GRADER_IMPORT("cuLinkCreate") GRADER_CHECKED CUresult grader_link_create(CUlinkState *state, GRADER_PLACE);
GRADER_IMPORT("cuLinkAddData") GRADER_CHECKED CUresult grader_link_add(CUlinkState state, const void *data, size_t bytes, GRADER_PLACE);
GRADER_IMPORT("cuLinkComplete") GRADER_CHECKED CUresult cuLinkComplete(CUlinkState state, void **image, size_t *bytes, GRADER_PLACE);
GRADER_IMPORT("cuLinkDestroy") GRADER_CHECKED CUresult cuLinkDestroy(CUlinkState state, GRADER_PLACE);
inline CUresult cuLinkCreate(unsigned count, CUjit_option *options, void **values, CUlinkState *state, GRADER_PLACE) {
    for (unsigned i = 0; i < count; i++) {
        // Nothing is said, in no time.
        bool is_log = options[i] == CU_JIT_INFO_LOG_BUFFER || options[i] == CU_JIT_ERROR_LOG_BUFFER;
        bool is_size = options[i] == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES || options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES;
        if (is_log && values[i]) *(char *)values[i] = 0;
        if (is_size || options[i] == CU_JIT_WALL_TIME) values[i] = nullptr;
    }
    return grader_link_create(state, GRADER_HERE);
}
inline CUresult cuLinkAddData(CUlinkState state, CUjitInputType, const void *data, size_t bytes, const char *, unsigned, CUjit_option *, void **, GRADER_PLACE) { return grader_link_add(state, data, bytes, GRADER_HERE); }
// What kernels launch kernels by is there without its library.
inline bool grader_is_device_runtime(const char *path) { return path && strstr(path, "cudadevrt"); }
inline CUresult cuLinkAddFile(CUlinkState state, CUjitInputType, const char *path, unsigned, CUjit_option *, void **, GRADER_PLACE) {
    if (grader_is_device_runtime(path)) return CUDA_SUCCESS;
    size_t size;
    char *image = grader_file(path, &size);
    if (!image) return CUDA_ERROR_FILE_NOT_FOUND;
    CUresult result = grader_link_add(state, image, size, GRADER_HERE);
    free(image);
    return result;
}
