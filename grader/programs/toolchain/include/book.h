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
