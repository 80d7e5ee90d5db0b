// Checks as the programs of a well-known introduction have them.
#pragma once
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
static void HandleError(cudaError_t error, const char *file, int line) {
    if (error == cudaSuccess) return;
    printf("%s in %s at line %d\n", cudaGetErrorString(error), file, line);
    exit(EXIT_FAILURE);
}
#define HANDLE_ERROR(error) (HandleError(error, __FILE__, __LINE__))
#define HANDLE_NULL(pointer) { if ((pointer) == NULL) { printf("Host memory failed in %s at line %d\n", __FILE__, __LINE__); exit(EXIT_FAILURE); } }
template <typename T> void swap(T &a, T &b) {
    T kept = a;
    a = b;
    b = kept;
}
inline void *big_random_block(int size) {
    unsigned char *data = (unsigned char *)malloc(size);
    HANDLE_NULL(data);
    for (int i = 0; i < size; i++) data[i] = rand();
    return data;
}
inline int *big_random_block_int(int size) {
    int *data = (int *)malloc(size * sizeof(int));
    HANDLE_NULL(data);
    for (int i = 0; i < size; i++) data[i] = rand();
    return data;
}
// A thread runs to its end when it is started.
typedef int CUTThread;
typedef void *(*CUT_THREADROUTINE)(void *);
#define CUT_THREADPROC void *
#define CUT_THREADEND return 0
inline CUTThread start_thread(CUT_THREADROUTINE function, void *data) { function(data); return 1; }
inline void end_thread(CUTThread) {}
inline void destroy_thread(CUTThread) {}
inline void wait_for_threads(const CUTThread *, int) {}
