#include <cstdio>
#include <cstring>
#include <cuda.h>
#include <nvJitLink.h>
#include <nvrtc.h>
#include <string>

static const char *kernel = "extern __device__ float twice(float);\n"
                            "extern \"C\" __global__ void k(float *p) { p[threadIdx.x] = twice(p[threadIdx.x]); }\n";
static const char *function = "__device__ float twice(float x) { return 2.0f * x; }\n";

static std::string compiled(const char *text, const char *name) {
    nvrtcProgram program;
    const char *options[] = {"-dlto", "--relocatable-device-code=true"};
    nvrtcCreateProgram(&program, text, name, 0, nullptr, nullptr);
    if (nvrtcCompileProgram(program, 2, options) != NVRTC_SUCCESS) printf("%s does not compile\n", name);
    size_t size;
    nvrtcGetLTOIRSize(program, &size);
    std::string image(size, 0);
    nvrtcGetLTOIR(program, &image[0]);
    nvrtcDestroyProgram(&program);
    return image;
}

static void run(const void *image) {
    CUmodule module;
    CUfunction k;
    CUdeviceptr p;
    float h[4] = {1, 2, 3, 4};
    cuModuleLoadData(&module, image);
    cuModuleGetFunction(&k, module, "k");
    cuMemAlloc(&p, sizeof h);
    cuMemcpyHtoD(p, h, sizeof h);
    void *arguments[] = {&p};
    cuLaunchKernel(k, 1, 1, 1, 4, 1, 1, 0, nullptr, arguments, nullptr);
    cuMemcpyDtoH(h, p, sizeof h);
    printf("%g %g %g %g\n", h[0], h[1], h[2], h[3]);
    cuMemFree(p);
    cuModuleUnload(module);
}

int main() {
    CUdevice device;
    CUcontext context;
    cuInit(0);
    cuDeviceGet(&device, 0);
    cuCtxCreate(&context, nullptr, 0, device);
    std::string a = compiled(kernel, "k.cu"), b = compiled(function, "twice.cu");

    nvJitLinkHandle linker;
    const char *options[] = {"-lto", "-arch=sm_75"};
    printf("%d", nvJitLinkCreate(&linker, 1, options));
    printf(" %d", nvJitLinkCreate(&linker, 2, options));
    printf(" %d", nvJitLinkAddData(linker, NVJITLINK_INPUT_LTOIR, a.data(), a.size(), "k"));
    printf(" %d", nvJitLinkAddData(linker, NVJITLINK_INPUT_LTOIR, b.data(), b.size(), "twice"));
    printf(" %d\n", nvJitLinkComplete(linker));
    size_t size;
    nvJitLinkGetLinkedCubinSize(linker, &size);
    std::string image(size, 0);
    nvJitLinkGetLinkedCubin(linker, &image[0]);
    nvJitLinkDestroy(&linker);
    run(image.data());

    CUlinkState state;
    char log[100] = "x";
    CUjit_option asked[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)sizeof log}, *linked;
    cuLinkCreate(2, asked, values, &state);
    printf("%d", cuLinkAddFile(state, CU_JIT_INPUT_LIBRARY, "/usr/local/cuda/lib64/libcudadevrt.a", 0, nullptr, nullptr));
    printf(" %d", cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)a.data(), a.size(), "k", 0, nullptr, nullptr));
    printf(" %d", cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)b.data(), b.size(), "twice", 0, nullptr, nullptr));
    printf(" %d '%s'\n", cuLinkComplete(state, &linked, &size), log);
    run(linked);
    cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)b.data(), b.size(), "twice again", 0, nullptr, nullptr);
    printf("%d", cuLinkComplete(state, &linked, &size));
    printf(" %d\n", cuLinkDestroy(state));
}
