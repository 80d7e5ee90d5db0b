// Modules that a Makefile would have nvcc make of files beside the program, loaded by name and from memory.
#include <cstdio>
#include <cuda.h>
#include <fstream>
#include <sstream>

int main() {
    CUdevice device;
    CUcontext context;
    CUmodule module, other;
    CUfunction twice, third;
    cuInit(0);
    cuDeviceGet(&device, 0);
    cuCtxCreate(&context, 0, device);
    printf("%d", cuModuleLoad(&module, "absent.ptx") == CUDA_ERROR_FILE_NOT_FOUND);
    printf(" %d", cuModuleLoad(&module, "twice_kernel64.fatbin"));
    printf(" %d", cuModuleGetFunction(&twice, module, "twice"));
    std::ifstream file("third.ptx", std::ios::binary);
    std::ostringstream image;
    image << file.rdbuf();
    printf(" %d", cuModuleLoadData(&other, image.str().c_str()));
    printf(" %d\n", cuModuleGetFunction(&third, other, "third"));
    int h[64], n = 64;
    for (int i = 0; i < n; i++) h[i] = 3 * i;
    CUdeviceptr d;
    cuMemAlloc(&d, sizeof h);
    cuMemcpyHtoD(d, h, sizeof h);
    void *arguments[] = {&d, &n};
    cuLaunchKernel(twice, 1, 1, 1, 64, 1, 1, 0, 0, arguments, 0);
    cuLaunchKernel(third, 1, 1, 1, 64, 1, 1, 0, 0, arguments, 0);
    cuMemcpyDtoH(h, d, sizeof h);
    printf("%d %d\n", h[1], h[63]);
    cuMemFree(d);
}
