// NVIDIA's sample headers by what they declare: flags, files, pictures, timers, comparisons, exceptions; complex numbers,
// memory by pages.
#include <cuComplex.h>
#include <cuda_runtime.h>
#include <helper_cuda.h>
#include <helper_functions.h>
#include <sys/mman.h>

__global__ void brighten(unsigned char *pixels, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) pixels[i] += 16;
}

int main(int argc, char **argv) {
    const char **words = (const char **)argv;
    int device = findCudaDevice(argc, words);
    char *name = nullptr;
    bool is_named = getCmdLineArgumentString(argc, words, "name", &name);
    printf("%d %d %d %.2f %s\n", device, checkCmdLineFlag(argc, words, "absent"), getCmdLineArgumentInt(argc, words, "n"),
           getCmdLineArgumentFloat(argc, words, "scale"), is_named ? name : "-");
    printf("%d %d %d %d\n", _ConvertSMVer2Cores(8, 6), _ConvertSMVer2Cores(8, 0), EXIT_WAIVED, MAX(3, MIN(9, 5)));

    unsigned char pixels[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, *on_device;
    StopWatchInterface *timer = nullptr;
    sdkCreateTimer(&timer);
    sdkStartTimer(&timer);
    checkCudaErrors(cudaMalloc(&on_device, 12));
    checkCudaErrors(cudaMemcpy(on_device, pixels, 12, cudaMemcpyHostToDevice));
    brighten<<<1, 32>>>(on_device, 12);
    getLastCudaError("brighten failed");
    checkCudaErrors(cudaMemcpy(pixels, on_device, 12, cudaMemcpyDeviceToHost));
    checkCudaErrors(cudaFree(on_device));
    sdkStopTimer(&timer);
    printf("%d %d\n", sdkGetTimerValue(&timer) > 0, sdkGetAverageTimerValue(&timer) == sdkGetTimerValue(&timer));
    sdkDeleteTimer(&timer);

    __savePPM("picture.ppm", pixels, 2, 2, 3);
    unsigned char *read = nullptr;
    unsigned width, height;
    bool was_read = sdkLoadPPM4ub(sdkFindFilePath("picture.ppm", argv[0]), &read, &width, &height);
    printf("%d %ux%u %d %d %d\n", was_read, width, height, read[0], read[4], read[14]);
    printf("%d\n", sdkFindFilePath("missing.ppm", argv[0]) == nullptr);
    float values[3] = {1, 2, 3}, others[3] = {1, 2, 3.5f}, *again = nullptr;
    unsigned count = 0;
    printf("%d %d\n", sdkCompareL2fe(values, others, 3, 1e-2f), compareData(values, others, 3, 0.6f, 0.0f));
    FILE *file = fopen("values.txt", "w");
    fprintf(file, "1.5 2.5\n-3\n");
    fclose(file);
    bool were_read = sdkReadFile("values.txt", &again, &count, false);
    printf("%d %u %g\n", were_read, count, again[2]);
    try {
        RUNTIME_EXCEPTION("too few");
    } catch (const std::runtime_error &error) {
        printf("%d\n", strstr(error.what(), "too few") != nullptr);
    }
    cuFloatComplex product = cuCmulf(make_cuFloatComplex(1, 2), make_cuFloatComplex(3, -1));
    cuDoubleComplex quotient = cuCdiv(make_cuDoubleComplex(5, 5), make_cuDoubleComplex(3, -1));
    printf("%g %g %g %g %g\n", product.x, product.y, cuCreal(quotient), cuCimag(quotient), cuCabs(make_cuDoubleComplex(3, 4)));
    int *pages = (int *)mmap(NULL, 10000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    printf("%d %d %d\n", pages != MAP_FAILED, pages[2499], (int)((size_t)pages % 4096));
    return munmap(pages, 10000);
}
