// The samples' checks of the driver API's calls, their choice of a device, and where they find a module.
#pragma once
#include "cuda.h"
#include "helper_string.h"
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#ifndef MAX
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#endif
// `helper_cuda.h`, which checks the runtime's, may be included beside it.
inline void __checkCudaErrors(CUresult result, const char *file, const int line) {
    if (result == CUDA_SUCCESS) return;
    const char *text = nullptr;
    cuGetErrorString(result, &text);
    fprintf(stderr, "checkCudaErrors() Driver API error = %04d \"%s\" from file <%s>, line %i.\n", result, text, file, line);
    exit(EXIT_FAILURE);
}
#ifndef checkCudaErrors
#define checkCudaErrors(err) __checkCudaErrors(err, __FILE__, __LINE__)
#endif
template <class T> inline void getCudaAttribute(T *attribute, CUdevice_attribute which, int device) {
    int value = 0;
    __checkCudaErrors(cuDeviceGetAttribute(&value, which, device), __FILE__, __LINE__);
    *attribute = value;
}
inline int _ConvertSMVer2CoresDRV(int major, int minor) {
    switch (major * 16 + minor) {
    case 0x30: case 0x32: case 0x35: case 0x37: return 192;
    case 0x60: case 0x70: case 0x72: case 0x75: case 0x80: return 64;
    default: return 128;
    }
}
inline int gpuDeviceInitDRV(int argc, const char **argv) {
    int device = getCmdLineArgumentInt(argc, argv, "device="), count = 0;
    __checkCudaErrors(cuInit(0), __FILE__, __LINE__);
    __checkCudaErrors(cuDeviceGetCount(&count), __FILE__, __LINE__);
    if (device < 0) device = 0;
    if (device > count - 1) {
        fprintf(stderr, "\n>> %d CUDA capable GPU device(s) detected. <<\n>> cudaDeviceInit (-device=%d) is not a valid GPU device. <<\n\n", count, device);
        return -device;
    }
    char name[100] = "";
    cuDeviceGetName(name, 100, device);
    if (!checkCmdLineFlag(argc, argv, "quiet")) printf("gpuDeviceInitDRV() Using CUDA Device [%d]: %s\n", device, name);
    return device;
}
inline int gpuGetMaxGflopsDeviceIdDRV() {
    cuInit(0);
    return 0;
}
inline CUdevice findCudaDeviceDRV(int argc, const char **argv) {
    CUdevice device = 0;
    int number = 0;
    if (checkCmdLineFlag(argc, argv, "device")) {
        number = gpuDeviceInitDRV(argc, argv);
        if (number < 0) {
            printf("exiting...\n");
            exit(EXIT_SUCCESS);
        }
    } else {
        char name[100] = "";
        number = gpuGetMaxGflopsDeviceIdDRV();
        __checkCudaErrors(cuDeviceGet(&device, number), __FILE__, __LINE__);
        cuDeviceGetName(name, 100, device);
        printf("> Using CUDA Device [%d]: %s\n", number, name);
    }
    cuDeviceGet(&device, number);
    return device;
}
inline bool checkCudaCapabilitiesDRV(int wanted_major, int wanted_minor, int number) {
    CUdevice device = 0;
    char name[256] = "";
    int major = 0, minor = 0;
    __checkCudaErrors(cuDeviceGet(&device, number), __FILE__, __LINE__);
    __checkCudaErrors(cuDeviceGetName(name, 100, device), __FILE__, __LINE__);
    __checkCudaErrors(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device), __FILE__, __LINE__);
    __checkCudaErrors(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device), __FILE__, __LINE__);
    if (major > wanted_major || (major == wanted_major && minor >= wanted_minor)) {
        printf("> Device %d: <%16s >, Compute SM %d.%d detected\n", number, name, major, minor);
        return true;
    }
    printf("No GPU device was found that can support CUDA compute capability %d.%d.\n", wanted_major, wanted_minor);
    return false;
}
inline bool findFatbinPath(const char *file, std::string &path, char **argv, std::ostringstream &contents) {
    char *place = sdkFindFilePath(file, argv[0]);
    if (!place) {
        printf("> findModulePath file not found: <%s> \n", file);
        return false;
    }
    path = place;
    if (path.empty()) {
        printf("> findModulePath could not find file: <%s> \n", file);
        return false;
    }
    printf("> findModulePath found file at <%s>\n", path.c_str());
    if (path.rfind("fatbin") != std::string::npos) contents << std::ifstream(path.c_str(), std::ios::binary).rdbuf();
    return true;
}
