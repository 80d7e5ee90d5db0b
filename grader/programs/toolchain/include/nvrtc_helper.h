// How the samples compile a file's device code as they run, and load it.
#pragma once
#include "cuda.h"
#include "helper_cuda_drvapi.h"
#include "nvrtc.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>
#define NVRTC_SAFE_CALL(name, call)                                                                            \
    do {                                                                                                       \
        nvrtcResult grader_result = call;                                                                      \
        if (grader_result != NVRTC_SUCCESS) {                                                                  \
            std::cerr << "\nerror: " << name << " failed with error " << nvrtcGetErrorString(grader_result);   \
            exit(1);                                                                                           \
        }                                                                                                      \
    } while (0)
// What cooperative groups are lies with the compiler: nothing has to be found for them.
inline void compileFileToCUBIN(char *filename, int argc, char **argv, char **cubin, size_t *bytes, int) {
    if (!filename) {
        std::cerr << "\nerror: filename is empty for compileFileToCUBIN()!\n";
        exit(1);
    }
    std::ifstream file(filename, std::ios::binary);
    if (!file.is_open()) {
        std::cerr << "\nerror: unable to open " << filename << " for reading!\n";
        exit(1);
    }
    std::stringstream text;
    text << file.rdbuf();
    CUdevice device = findCudaDeviceDRV(argc, (const char **)argv);
    int major = 0, minor = 0;
    checkCudaErrors(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
    checkCudaErrors(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device));
    std::string architecture = "--gpu-architecture=sm_" + std::to_string(major) + std::to_string(minor);
    const char *options[] = {architecture.c_str()};
    nvrtcProgram program;
    NVRTC_SAFE_CALL("nvrtcCreateProgram", nvrtcCreateProgram(&program, text.str().c_str(), filename, 0, nullptr, nullptr));
    nvrtcResult result = nvrtcCompileProgram(program, 1, options);
    size_t size = 0;
    NVRTC_SAFE_CALL("nvrtcGetProgramLogSize", nvrtcGetProgramLogSize(program, &size));
    std::vector<char> log(size + 1);
    NVRTC_SAFE_CALL("nvrtcGetProgramLog", nvrtcGetProgramLog(program, log.data()));
    if (strlen(log.data()) >= 2) std::cerr << "\n compilation log ---\n" << log.data() << "\n end log ---\n";
    NVRTC_SAFE_CALL("nvrtcCompileProgram", result);
    NVRTC_SAFE_CALL("nvrtcGetCUBINSize", nvrtcGetCUBINSize(program, bytes));
    *cubin = (char *)malloc(*bytes);
    NVRTC_SAFE_CALL("nvrtcGetCUBIN", nvrtcGetCUBIN(program, *cubin));
}
inline CUmodule loadCUBIN(char *cubin, int argc, char **argv) {
    CUdevice device = findCudaDeviceDRV(argc, (const char **)argv);
    int major = 0, minor = 0;
    checkCudaErrors(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
    checkCudaErrors(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device));
    printf("> GPU Device has SM %d.%d compute capability\n", major, minor);
    CUcontext context;
    CUmodule module;
    checkCudaErrors(cuInit(0));
    checkCudaErrors(cuCtxCreate(&context, 0, device));
    checkCudaErrors(cuModuleLoadData(&module, cubin));
    free(cubin);
    return module;
}
