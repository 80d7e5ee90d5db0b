// Печать свойств устройства: первая лабораторная
#include <stdio.h>
#include <cuda_runtime.h>

int main()
{
    int n = 0, drv = 0, rt = 0;
    cudaGetDeviceCount(&n);
    cudaDriverGetVersion(&drv);
    cudaRuntimeGetVersion(&rt);
    printf("Найдено устройств: %d\n", n);
    for (int i = 0; i < n; i++)
    {
        cudaDeviceProp p;
        cudaGetDeviceProperties(&p, i);
        printf("%s, версия %d.%d\n", p.name, p.major, p.minor);
        printf("глобальной памяти: %zu МиБ\n", p.totalGlobalMem >> 20);
        printf("константной: %zu, разделяемой на блок: %zu, на мультипроцессор: %zu\n", p.totalConstMem, p.sharedMemPerBlock, p.sharedMemPerMultiprocessor);
        printf("регистров: %d, варп: %d, потоков в блоке: %d\n", p.regsPerBlock, p.warpSize, p.maxThreadsPerBlock);
        printf("блок: %d x %d x %d\n", p.maxThreadsDim[0], p.maxThreadsDim[1], p.maxThreadsDim[2]);
        printf("сетка: %d x %d x %d\n", p.maxGridSize[0], p.maxGridSize[1], p.maxGridSize[2]);
        printf("частота: %d кГц, памяти: %d кГц, шина: %d бит\n", p.clockRate, p.memoryClockRate, p.memoryBusWidth);
        printf("мультипроцессоров: %d, L2: %d\n", p.multiProcessorCount, p.l2CacheSize);
        printf("%s %s %s %s\n", p.canMapHostMemory ? "map" : "-", p.unifiedAddressing ? "uva" : "-",
               p.managedMemory ? "managed" : "-", p.concurrentManagedAccess ? "concurrent" : "-");
        printf("текстуры: 1D %d, 2D %d x %d\n", p.maxTexture1D, p.maxTexture2D[0], p.maxTexture2D[1]);
        int v = 0;
        cudaDeviceGetAttribute(&v, cudaDevAttrComputeCapabilityMajor, i);
        printf("атрибут: %d\n", v);
    }
    size_t fr, tot;
    cudaMemGetInfo(&fr, &tot);
    printf("%s\n", fr <= tot && drv >= rt ? "сходится" : "не сходится");
    return 0;
}
