#include <cstdio>
#include <cuda.h>
#include <cusparse_v2.h>
// memory pools, where memory is to lie, attributes of streams, limits of the device, and what no other process can be given
#define CHECK(call) do { cudaError_t e = (call); if (e) { printf("%d: %s\n", __LINE__, cudaGetErrorName(e)); return 1; } } while (0)
__global__ void fill(int *values, int n, int value) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] = value;
}
// 12 MiB of the device's heap, more than it has by default
__global__ void hold(int *result) {
    char *kept[12];
    int count = 0;
    for (int i = 0; i < 12; i++)
        if ((kept[i] = (char *)malloc(1 << 20)) != nullptr) count++;
    for (int i = 0; i < 12; i++) free(kept[i]);
    *result = count;
}
int main() {
    const int n = 1 << 20;
    size_t heap;
    CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 64 << 20));
    CHECK(cudaDeviceGetLimit(&heap, cudaLimitMallocHeapSize));
    cudaMemPool_t own, current, made;
    CHECK(cudaDeviceGetDefaultMemPool(&own, 0));
    CHECK(cudaDeviceGetMemPool(&current, 0));
    unsigned long long threshold = ~0ull, used, most, reserved;
    CHECK(cudaMemPoolSetAttribute(own, cudaMemPoolAttrReleaseThreshold, &threshold));
    int least, greatest, priority;
    unsigned flags;
    CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest));
    CHECK(cudaStreamGetPriority(stream, &priority));
    CHECK(cudaStreamGetFlags(stream, &flags));
    printf("%zu %d %d %u\n", heap >> 20, own == current, priority == greatest, flags);

    int *a, *b, *count, first = 0, last = 0;
    CHECK(cudaMallocAsync(&a, n * sizeof(int), stream));
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location = {cudaMemLocationTypeDevice, 0};
    CHECK(cudaMemPoolCreate(&made, &properties));
    CHECK(cudaMallocFromPoolAsync(&b, n * sizeof(int), made, stream));
    fill<<<n / 256, 256, 0, stream>>>(a, n, 7);
    CHECK(cudaMemcpyPeerAsync(b, 0, a, 0, n * sizeof(int), stream));
    CHECK(cudaMemcpyAsync(&first, b, sizeof first, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaMemcpyAsync(&last, b + n - 1, sizeof last, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaMemPoolGetAttribute(made, cudaMemPoolAttrUsedMemCurrent, &used));
    printf("%llu ", used);
    CHECK(cudaFreeAsync(b, stream));
    CHECK(cudaFreeAsync(a, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemPoolGetAttribute(made, cudaMemPoolAttrUsedMemCurrent, &used));
    CHECK(cudaMemPoolGetAttribute(made, cudaMemPoolAttrUsedMemHigh, &most));
    CHECK(cudaMemPoolGetAttribute(own, cudaMemPoolAttrReservedMemCurrent, &reserved));
    printf("%llu %llu %llu\n", used, most, reserved >> 20);
    CHECK(cudaMemPoolTrimTo(own, 0));
    CHECK(cudaMemPoolGetAttribute(own, cudaMemPoolAttrReservedMemCurrent, &reserved));
    CHECK(cudaMemPoolDestroy(made));
    printf("%d %d %llu\n", first, last, reserved);

    cudaStreamAttrValue window = {};
    window.accessPolicyWindow.num_bytes = 0;
    window.accessPolicyWindow.hitRatio = 0.5f;
    window.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
    window.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
    CHECK(cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &window));
    cudaStreamAttrValue kept;
    CHECK(cudaStreamGetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &kept));
    CHECK(cudaCtxResetPersistingL2Cache());
    CHECK(cudaMallocManaged(&count, sizeof(int)));
    cudaMemLocation here = {cudaMemLocationTypeDevice, 0};
    CHECK(cudaMemAdvise(count, sizeof(int), cudaMemAdviseSetPreferredLocation, here));
    CHECK(cudaMemPrefetchAsync(count, sizeof(int), here, 0, stream));
    CHECK(cudaMemPrefetchAsync(count, sizeof(int), 0, stream));
    hold<<<1, 1, 0, stream>>>(count);
    CHECK(cudaStreamSynchronize(stream));
    int grid, block;
    size_t room;
    CHECK(cudaOccupancyMaxPotentialBlockSizeVariableSMem(&grid, &block, fill, [](int threads) { return threads * 64; }));
    CHECK(cudaOccupancyAvailableDynamicSMemPerBlock(&room, fill, 1, 256));
    printf("%g %d %d %d %d\n", kept.accessPolicyWindow.hitRatio, *count, block % 32, grid > 0, room >= 48 << 10);
    cusparseMatDescr_t matrix;
    cusparseCreateMatDescr(&matrix);
    cusparseSetMatIndexBase(matrix, CUSPARSE_INDEX_BASE_ONE);
    int mode;
    cuDeviceGetAttribute(&mode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, 0);
    printf("%d %d\n", cusparseGetMatIndexBase(matrix) == CUSPARSE_INDEX_BASE_ONE, mode == CU_COMPUTEMODE_PROHIBITED);
    cusparseDestroyMatDescr(matrix);
    cudaIpcMemHandle_t handle;
    printf("%s\n", cudaGetErrorName(cudaIpcGetMemHandle(&handle, count)));
    cudaFree(count);
    cudaStreamDestroy(stream);
}
