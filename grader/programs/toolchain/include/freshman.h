// Checks, times and random data as the programs of a well-known book have them.
#pragma once
#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#define CHECK(call) { const cudaError_t error = call; if (error != cudaSuccess) { printf("ERROR: %s:%d, code:%d, reason:%s\n", __FILE__, __LINE__, error, cudaGetErrorString(error)); exit(1); } }
inline double cpuSecond() { struct timeval t; gettimeofday(&t, NULL); return t.tv_sec + t.tv_usec * 1e-6; }
inline void initialData(float *p, int size) { for (int i = 0; i < size; i++) p[i] = (float)(rand() & 0xffff) / 1000.0f; }
inline void initialData_int(int *p, int size) { for (int i = 0; i < size; i++) p[i] = rand() & 0xff; }
inline void printMatrix(float *c, const int nx, const int ny) {
    for (int i = 0; i < ny; i++, c += nx, printf("\n")) for (int j = 0; j < nx; j++) printf("%6.2f ", c[j]);
}
inline void initDevice(int number) {
    cudaDeviceProp p;
    CHECK(cudaGetDeviceProperties(&p, number));
    printf("Using device %d: %s\n", number, p.name);
    CHECK(cudaSetDevice(number));
}
inline void checkResult(float *host, float *gpu, const int n) {
    for (int i = 0; i < n; i++) if (fabs(host[i] - gpu[i]) > 1e-8) { printf("Results don't match!\n%f(host) != %f(gpu) at %d\n", host[i], gpu[i], i); return; }
    printf("Check result success!\n");
}
