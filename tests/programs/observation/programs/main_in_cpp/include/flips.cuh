#pragma once
#include <cstdio>
#include <cstdlib>

#define VERIFY(call)                                                  \
    do {                                                              \
        cudaError_t said = (call);                                    \
        if (said != cudaSuccess) {                                    \
            std::fprintf(stderr, "%s\n", cudaGetErrorString(said));   \
            std::exit(1);                                             \
        }                                                             \
    } while (0)

void flip(const float *from, float *to, int rows, int cols);
