// The samples' checks of calls, which name the call and end the program, and their choice of a device.
#pragma once
#include "cuda_runtime.h"
#include <cstdio>
#include <cstdlib>
#include "helper_string.h"
inline const char *_cudaGetErrorEnum(cudaError_t error) { return cudaGetErrorName(error); }
template <class T> inline const char *_cudaGetErrorEnum(T) { return "<unknown>"; }
template <class T> void check(T result, char const *const call, const char *const file, int const line) {
    if (result) {
        fprintf(stderr, "CUDA error at %s:%d code=%d(%s) \"%s\" \n", file, line, static_cast<unsigned int>(result), _cudaGetErrorEnum(result), call);
        exit(EXIT_FAILURE);
    }
}
#define checkCudaErrors(val) check((val), #val, __FILE__, __LINE__)
#define getLastCudaError(msg) __getLastCudaError(msg, __FILE__, __LINE__)
#define printLastCudaError(msg) __printLastCudaError(msg, __FILE__, __LINE__)
inline bool grader_said_last_error(const char *message, const char *file, int line) {
    cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess)
        fprintf(stderr, "%s(%i) : getLastCudaError() CUDA error : %s : (%d) %s.\n", file, line, message, static_cast<int>(error), cudaGetErrorString(error));
    return error != cudaSuccess;
}
inline void __getLastCudaError(const char *message, const char *file, const int line) {
    if (grader_said_last_error(message, file, line)) exit(EXIT_FAILURE);
}
inline void __printLastCudaError(const char *message, const char *file, const int line) { grader_said_last_error(message, file, line); }
#ifndef MAX
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#endif
#ifndef MIN
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#endif
inline int ftoi(float value) { return value >= 0 ? static_cast<int>(value + 0.5) : static_cast<int>(value - 0.5); }
// Cores of a multiprocessor and names by compute capability, from NVIDIA's programming guide.
inline int _ConvertSMVer2Cores(int major, int minor) {
    switch (major * 16 + minor) {
    case 0x30: case 0x32: case 0x35: case 0x37: return 192;
    case 0x60: case 0x70: case 0x72: case 0x75: case 0x80: return 64;
    default: return 128;
    }
}
inline const char *_ConvertSMVer2ArchName(int major, int minor) {
    switch (major) {
    case 3: return "Kepler";
    case 5: return "Maxwell";
    case 6: return "Pascal";
    case 7: return minor == 0 ? "Volta" : minor == 2 ? "Xavier" : "Turing";
    case 8: return minor == 9 ? "Ada" : "Ampere";
    case 9: return "Hopper";
    default: return major >= 10 ? "Blackwell" : "Graphics Device";
    }
}
inline int gpuDeviceInit(int device) {
    int count = 0;
    checkCudaErrors(cudaGetDeviceCount(&count));
    if (count == 0) {
        fprintf(stderr, "gpuDeviceInit() CUDA error: no devices supporting CUDA.\n");
        exit(EXIT_FAILURE);
    }
    if (device < 0) device = 0;
    if (device > count - 1) {
        fprintf(stderr, "\n>> %d CUDA capable GPU device(s) detected. <<\n>> gpuDeviceInit (-device=%d) is not a valid GPU device. <<\n\n", count, device);
        return -device;
    }
    int major = 0, minor = 0;
    checkCudaErrors(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
    checkCudaErrors(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
    checkCudaErrors(cudaSetDevice(device));
    printf("gpuDeviceInit() CUDA Device [%d]: \"%s\n", device, _ConvertSMVer2ArchName(major, minor));
    return device;
}
inline int gpuGetMaxGflopsDeviceId() { return 0; }
inline int findCudaDevice(int argc, const char **argv) {
    int device = 0;
    if (checkCmdLineFlag(argc, argv, "device")) {
        device = gpuDeviceInit(getCmdLineArgumentInt(argc, argv, "device="));
        if (device < 0) {
            printf("exiting...\n");
            exit(EXIT_FAILURE);
        }
        return device;
    }
    int major = 0, minor = 0;
    device = gpuGetMaxGflopsDeviceId();
    checkCudaErrors(cudaSetDevice(device));
    checkCudaErrors(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
    checkCudaErrors(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
    printf("GPU Device %d: \"%s\" with compute capability %d.%d\n\n", device, _ConvertSMVer2ArchName(major, minor), major, minor);
    return device;
}
inline int findIntegratedGPU() {
    int count = 0;
    checkCudaErrors(cudaGetDeviceCount(&count));
    for (int device = 0; device < count; device++) {
        int integrated = 0;
        checkCudaErrors(cudaDeviceGetAttribute(&integrated, cudaDevAttrIntegrated, device));
        if (integrated) {
            checkCudaErrors(cudaSetDevice(device));
            return device;
        }
    }
    fprintf(stderr, "CUDA error: No Integrated GPU found that supports CUDA.\n");
    exit(EXIT_FAILURE);
}
inline bool checkCudaCapabilities(int wanted_major, int wanted_minor) {
    int device = 0, major = 0, minor = 0;
    checkCudaErrors(cudaGetDevice(&device));
    checkCudaErrors(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
    checkCudaErrors(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
    if (major > wanted_major || (major == wanted_major && minor >= wanted_minor)) {
        printf("  Device %d: <%16s >, Compute SM %d.%d detected\n", device, _ConvertSMVer2ArchName(major, minor), major, minor);
        return true;
    }
    printf("  No GPU device was found that can support CUDA compute capability %d.%d.\n", wanted_major, wanted_minor);
    return false;
}
