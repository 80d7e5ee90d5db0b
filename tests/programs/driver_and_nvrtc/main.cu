// The driver API and NVRTC: device code compiled, loaded, found and launched as the program runs.
#include <cstdio>
#include <cstring>
#include <cuda.h>
#include <nvrtc.h>
#include <string>
#include <vector>

const char *text = R"(
#include "factor.h"
__constant__ float shift = 1.5f;
extern "C" __global__ void scale(const float *in, float *out, int n, float by)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] * by * FACTOR + shift;
}
template <int N> __global__ void fill(int *out) { out[threadIdx.x] = N * threadIdx.x + EXTRA; }
)";

int main() {
    const int n = 100;
    CUdevice device;
    CUcontext context;
    int major = 0, minor = 0;
    printf("%d", cuInit(0));
    printf(" %d\n", cuDeviceGet(&device, 0));
    cuDeviceComputeCapability(&major, &minor, device);
#if CUDA_VERSION >= 13000
    cuCtxCreate(&context, nullptr, 0, device);
#else
    cuCtxCreate(&context, 0, device);
#endif
    nvrtcProgram program;
    const char *headers[] = {"#define FACTOR 2\n"}, *names[] = {"factor.h"};
    nvrtcCreateProgram(&program, text, "own.cu", 1, headers, names);
    nvrtcAddNameExpression(program, "fill<3>");
    std::string architecture = "--gpu-architecture=compute_" + std::to_string(10 * major + minor);
    const char *options[] = {architecture.c_str(), "-DEXTRA=7"};
    printf("%s\n", nvrtcGetErrorString(nvrtcCompileProgram(program, 2, options)));
    size_t size;
    nvrtcGetPTXSize(program, &size);
    std::vector<char> ptx(size);
    nvrtcGetPTX(program, ptx.data());
    const char *lowered;
    nvrtcGetLoweredName(program, "fill<3>", &lowered);
    CUmodule module;
    CUfunction scale, fill, none;
    printf("%d", cuModuleLoadDataEx(&module, ptx.data(), 0, nullptr, nullptr));
    printf(" %d", cuModuleGetFunction(&scale, module, "scale"));
    printf(" %d", cuModuleGetFunction(&fill, module, lowered));
    const char *name;
    cuGetErrorName(cuModuleGetFunction(&none, module, "absent"), &name);
    printf(" %s\n", name);
    nvrtcDestroyProgram(&program);

    CUdeviceptr in, out, constant;
    std::vector<float> h(n);
    for (int i = 0; i < n; i++) h[i] = i;
    cuMemAlloc(&in, n * sizeof(float));
    cuMemAlloc(&out, n * sizeof(float));
    cuMemcpyHtoD(in, h.data(), n * sizeof(float));
    float by = 0.5f, shift = 10;
    int count = n;
    void *parameters[] = {&in, &out, &count, &by};
    printf("%d", cuLaunchKernel(scale, 1, 1, 1, 128, 1, 1, 0, 0, parameters, nullptr));
    cuCtxSynchronize();
    cuMemcpyDtoH(h.data(), out, n * sizeof(float));
    printf(" %g %g\n", h[0], h[99]);
    cuModuleGetGlobal(&constant, &size, module, "shift");
    cuMemcpyHtoD(constant, &shift, sizeof shift);
    struct { CUdeviceptr in, out; int n; float by; } packed = {in, out, n, 1};
    size_t bytes = sizeof packed;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
    cuLaunchKernel(scale, 1, 1, 1, 128, 1, 1, 0, 0, nullptr, extra);
    cuMemcpyDtoH(h.data(), out, n * sizeof(float));
    printf("%d %g %g\n", (int)size, h[0], h[99]);
    void *filled[] = {&out};
    int last[32], resident;
    cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&resident, fill, 32, 0, CU_OCCUPANCY_DEFAULT);
    printf("%d %d ", resident > 0, cuLaunchCooperativeKernel(fill, 1, 1, 1, 32, 1, 1, 0, 0, filled));
    cuMemcpyDtoH(last, out, sizeof last);
    printf("%d %d\n", last[0], last[31]);
    printf("%d", cuMemsetD32(out, 70000, 32));
    printf(" %d", cuMemsetD16(out + 4, 0x0102, 3));
    printf(" %d", cuMemsetD2D32Async(out + 16, 16, 7, 1, 3, nullptr));
    printf(" %d\n", cuMemsetD32(out + 2, 1, 1));
    cuMemcpyDtoH(last, out, sizeof last);
    for (int i = 0; i < 14; i++) printf("%x ", last[i]);
    printf("%x\n", last[31]);

    nvrtcCreateProgram(&program, "__global__ void broken() { int x = y; }\n", "broken.cu", 0, nullptr, nullptr);
    nvrtcResult result = nvrtcCompileProgram(program, 0, nullptr);
    nvrtcGetProgramLogSize(program, &size);
    std::vector<char> log(size);
    nvrtcGetProgramLog(program, log.data());
    printf("%s %d\n", nvrtcGetErrorString(result), strstr(log.data(), "\"y\" is undefined") != nullptr);
    nvrtcDestroyProgram(&program);
    printf("%d\n", cuModuleLoadData(&module, "not a module"));
    cuMemFree(in);
    cuMemFree(out);
    cuCtxDestroy(context);
}
