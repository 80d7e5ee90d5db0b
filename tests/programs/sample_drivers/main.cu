// The headers of NVIDIA's samples of the driver API and of NVRTC: a file is compiled as the program runs, and a module found.
#include <cstdio>
#include <nvrtc_helper.h>

int main(int argc, char **argv) {
    char name[] = "scale.cu", *cubin;
    size_t bytes;
    compileFileToCUBIN(name, argc, argv, &cubin, &bytes, 0);
    CUmodule compiled = loadCUBIN(cubin, argc, argv), found;
    std::string path;
    std::ostringstream contents;
    if (!findFatbinPath("scale64.fatbin", path, argv, contents)) return 1;
    checkCudaErrors(cuModuleLoadData(&found, contents.str().c_str()));
    CUdeviceptr numbers;
    checkCudaErrors(cuMemAlloc(&numbers, 4 * sizeof(int)));
    int host[4] = {1, 2, 3, 4}, factor = 10;
    checkCudaErrors(cuMemcpyHtoD(numbers, host, sizeof host));
    for (CUmodule module : {compiled, found}) {
        CUfunction scale;
        checkCudaErrors(cuModuleGetFunction(&scale, module, "scale"));
        void *arguments[] = {&numbers, &factor};
        checkCudaErrors(cuLaunchKernel(scale, 1, 1, 1, 4, 1, 1, 0, nullptr, arguments, nullptr));
    }
    checkCudaErrors(cuMemcpyDtoH(host, numbers, sizeof host));
    int can = 1;
    checkCudaErrors(cuDeviceCanAccessPeer(&can, 0, 0));
    std::printf("%d %d %d %d, peer %d\n", host[0], host[1], host[2], host[3], can);
    checkCudaErrors(cuMemFree(numbers));
}
