// What programs use of the samples' header: checks that name the call and end the program.
#pragma once
#include "cuda_runtime.h"
#include <cstdio>
#include <cstdlib>
template <class T> inline void check(T result, const char *call, const char *file, int line) {
    if (result) {
        fprintf(stderr, "CUDA error at %s:%d code=%d \"%s\"\n", file, line, (int)result, call);
        exit(EXIT_FAILURE);
    }
}
#define checkCudaErrors(call) check((call), #call, __FILE__, __LINE__)
inline void grader_get_last_error(const char *message, const char *file, int line) {
    cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess) {
        fprintf(stderr, "%s(%d): %s: (%d) %s\n", file, line, message, (int)error, cudaGetErrorString(error));
        exit(EXIT_FAILURE);
    }
}
#define getLastCudaError(message) grader_get_last_error(message, __FILE__, __LINE__)
inline int gpuGetMaxGflopsDeviceId() { return 0; }
inline int findCudaDevice(int, const char **) { return 0; }
#ifndef MAX
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#endif
