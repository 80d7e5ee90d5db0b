// What cudaGetDeviceProperties says is what cudaDeviceGetAttribute says, field by field.
#include <cstdio>
#include <cuda_runtime.h>

int attribute(cudaDeviceAttr which) {
    int value = -1;
    cudaDeviceGetAttribute(&value, which, 0);
    return value;
}
#define SAME(field, name) \
    if ((long long)p.field != attribute(cudaDevAttr##name)) \
        printf("%s is %lld, %s is %d\n", #field, (long long)p.field, #name, attribute(cudaDevAttr##name));

int main() {
    cudaDeviceProp p;
    cudaGetDeviceProperties(&p, 0);
    SAME(sharedMemPerBlock, MaxSharedMemoryPerBlock) SAME(regsPerBlock, MaxRegistersPerBlock) SAME(warpSize, WarpSize)
    SAME(memPitch, MaxPitch) SAME(maxThreadsPerBlock, MaxThreadsPerBlock) SAME(maxThreadsDim[2], MaxBlockDimZ)
    SAME(maxGridSize[0], MaxGridDimX) SAME(maxGridSize[1], MaxGridDimY) SAME(totalConstMem, TotalConstantMemory)
    SAME(major, ComputeCapabilityMajor) SAME(minor, ComputeCapabilityMinor) SAME(textureAlignment, TextureAlignment)
    SAME(multiProcessorCount, MultiProcessorCount) SAME(integrated, Integrated) SAME(canMapHostMemory, CanMapHostMemory)
    SAME(maxTexture1D, MaxTexture1DWidth) SAME(maxTexture2D[1], MaxTexture2DHeight) SAME(maxTexture3D[2], MaxTexture3DDepth)
    SAME(maxTexture2DLayered[2], MaxTexture2DLayeredLayers) SAME(maxSurface2D[0], MaxSurface2DWidth)
    SAME(surfaceAlignment, SurfaceAlignment) SAME(concurrentKernels, ConcurrentKernels) SAME(ECCEnabled, EccEnabled)
    SAME(asyncEngineCount, AsyncEngineCount) SAME(unifiedAddressing, UnifiedAddressing)
    SAME(memoryBusWidth, GlobalMemoryBusWidth) SAME(l2CacheSize, L2CacheSize)
    SAME(maxThreadsPerMultiProcessor, MaxThreadsPerMultiProcessor)
    SAME(sharedMemPerMultiprocessor, MaxSharedMemoryPerMultiprocessor) SAME(regsPerMultiprocessor, MaxRegistersPerMultiprocessor)
    SAME(managedMemory, ManagedMemory) SAME(concurrentManagedAccess, ConcurrentManagedAccess)
    SAME(cooperativeLaunch, CooperativeLaunch) SAME(sharedMemPerBlockOptin, MaxSharedMemoryPerBlockOptin)
    SAME(maxBlocksPerMultiProcessor, MaxBlocksPerMultiprocessor) SAME(reservedSharedMemPerBlock, ReservedSharedMemoryPerBlock)
    SAME(memoryPoolsSupported, MemoryPoolsSupported) SAME(ipcEventSupported, IpcEventSupport) SAME(clusterLaunch, ClusterLaunch)
    int value = 5, peer = 0;
    printf("%s\n", cudaGetErrorName(cudaDeviceGetAttribute(&value, (cudaDeviceAttr)9999, 0)));
    printf("%s\n", cudaGetErrorName(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 7)));
    printf("%s\n", cudaGetErrorName(cudaDeviceGetP2PAttribute(&peer, cudaDevP2PAttrAccessSupported, 0, 0)));
}
