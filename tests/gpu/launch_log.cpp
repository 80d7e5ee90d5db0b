// Loaded before the CUDA runtime of a program (LD_PRELOAD): writes a line of JSON for each launch that the program
// asks for to the file that LAUNCH_LOG names, then lets the runtime do it.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

namespace {

std::map<const void*, std::string>& names() {
    static std::map<const void*, std::string> known;
    return known;
}

template <typename Function>
Function runtime(const char* name) {
    return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

void write(const char* kernel, dim3 grid, dim3 block, size_t shared_bytes) {
    static FILE* file = fopen(getenv("LAUNCH_LOG"), "a");
    fprintf(file, "{\"kernel\": \"%s\", \"grid\": [%u, %u, %u], \"block\": [%u, %u, %u], \"shared_bytes\": %zu}\n",
            kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared_bytes);
    fflush(file);
}

void log(const void* kernel, dim3 grid, dim3 block, size_t shared_bytes) {
    auto found = names().find(kernel);
    write(found == names().end() ? "?" : found->second.c_str(), grid, block, shared_bytes);
}

}  // namespace

extern "C" {

// What nvcc makes a program call before `main`, once for each of its kernels.
void __cudaRegisterFunction(void** module, const char* host, char* device, const char* name, int limit, uint3* tid,
                            uint3* bid, dim3* block, dim3* grid, int* warp) {
    names()[host] = name;
    using Function = void (*)(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*, dim3*, int*);
    runtime<Function>("__cudaRegisterFunction")(module, host, device, name, limit, tid, bid, block, grid, warp);
}

// From 13 on `<<< >>>` first asks for the kernel of a function and launches that.
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host) {
    cudaError_t error = runtime<cudaError_t (*)(cudaKernel_t*, const void*)>("__cudaGetKernel")(kernel, host);
    if (error == cudaSuccess && names().count(host)) names()[*kernel] = names()[host];
    return error;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                               cudaStream_t stream) {
    log(kernel, grid, block, shared_bytes);
    using Function = cudaError_t (*)(cudaKernel_t, dim3, dim3, void**, size_t, cudaStream_t);
    return runtime<Function>("__cudaLaunchKernel")(kernel, grid, block, arguments, shared_bytes, stream);
}

cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                             cudaStream_t stream) {
    log(kernel, grid, block, shared_bytes);
    using Function = cudaError_t (*)(const void*, dim3, dim3, void**, size_t, cudaStream_t);
    return runtime<Function>("cudaLaunchKernel")(kernel, grid, block, arguments, shared_bytes, stream);
}

cudaError_t cudaLaunchCooperativeKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                        size_t shared_bytes, cudaStream_t stream) {
    log(kernel, grid, block, shared_bytes);
    using Function = cudaError_t (*)(const void*, dim3, dim3, void**, size_t, cudaStream_t);
    return runtime<Function>("cudaLaunchCooperativeKernel")(kernel, grid, block, arguments, shared_bytes, stream);
}

// By the driver API, as the program itself calls it; the runtime does not go this way.
CUresult cuLaunchKernel(CUfunction kernel, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                        unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes,
                        CUstream stream, void** arguments, void** extra) {
    const char* name = "?";
    runtime<CUresult (*)(const char**, CUfunction)>("cuFuncGetName")(&name, kernel);
    write(name, dim3(grid_x, grid_y, grid_z), dim3(block_x, block_y, block_z), shared_bytes);
    using Function = CUresult (*)(CUfunction, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int,
                                  unsigned int, unsigned int, CUstream, void**, void**);
    return runtime<Function>("cuLaunchKernel")(kernel, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes,
                                               stream, arguments, extra);
}

CUresult cuLaunchCooperativeKernel(CUfunction kernel, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                                   unsigned int block_x, unsigned int block_y, unsigned int block_z,
                                   unsigned int shared_bytes, CUstream stream, void** arguments) {
    const char* name = "?";
    runtime<CUresult (*)(const char**, CUfunction)>("cuFuncGetName")(&name, kernel);
    write(name, dim3(grid_x, grid_y, grid_z), dim3(block_x, block_y, block_z), shared_bytes);
    using Function = CUresult (*)(CUfunction, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int,
                                  unsigned int, unsigned int, CUstream, void**);
    return runtime<Function>("cuLaunchCooperativeKernel")(kernel, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                                                          shared_bytes, stream, arguments);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel, void** arguments) {
    log(kernel, config->gridDim, config->blockDim, config->dynamicSmemBytes);
    using Function = cudaError_t (*)(const cudaLaunchConfig_t*, const void*, void**);
    return runtime<Function>("cudaLaunchKernelExC")(config, kernel, arguments);
}

}
