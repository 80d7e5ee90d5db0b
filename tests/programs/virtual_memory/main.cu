// An array that grows in place of its contents: addresses reserved, memory mapped there, and mapped elsewhere.
#include <cstdio>
#include <cuda.h>
#include <vector>

struct Growing {
    CUdeviceptr start = 0;
    size_t reserved = 0, chunk = 0;
    CUmemAllocationProp what = {};
    CUmemAccessDesc access = {};
    std::vector<CUmemGenericAllocationHandle> handles;

    Growing() {
        what.type = CU_MEM_ALLOCATION_TYPE_PINNED;
        what.location.type = access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        cuMemGetAllocationGranularity(&chunk, &what, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    }
    CUresult grow() {
        size_t used = handles.size() * chunk;
        if (used == reserved) {
            CUdeviceptr fresh;
            CUresult result = cuMemAddressReserve(&fresh, reserved + 2 * chunk, 0, start + reserved, 0);
            if (result != CUDA_SUCCESS) return result;
            // Kernels that were launched before may still use it.
            cudaDeviceSynchronize();
            if (start) cuMemUnmap(start, used);
            for (size_t i = 0; i < handles.size(); i++) cuMemMap(fresh + i * chunk, chunk, 0, handles[i], 0);
            if (used) cuMemSetAccess(fresh, used, &access, 1);
            if (start) cuMemAddressFree(start, reserved);
            start = fresh;
            reserved += 2 * chunk;
        }
        CUmemGenericAllocationHandle handle;
        CUresult result = cuMemCreate(&handle, chunk, &what, 0);
        if (result != CUDA_SUCCESS) return result;
        handles.push_back(handle);
        result = cuMemMap(start + used, chunk, 0, handle, 0);
        return result != CUDA_SUCCESS ? result : cuMemSetAccess(start + used, chunk, &access, 1);
    }
    ~Growing() {
        cuMemUnmap(start, handles.size() * chunk);
        cuMemAddressFree(start, reserved);
        for (CUmemGenericAllocationHandle handle : handles) cuMemRelease(handle);
    }
};

__global__ void number(int *p, int first) { p[first + threadIdx.x] = first + threadIdx.x; }

int main() {
    cuInit(0);
    CUdevice device;
    CUcontext context;
    cuDeviceGet(&device, 0);
    cuDevicePrimaryCtxRetain(&context, device);
    cuCtxSetCurrent(context);
    int is_there = 0;
    cuDeviceGetAttribute(&is_there, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device);
    printf("supported: %d\n", is_there);
    {
        Growing array;
        for (int step = 0; step < 5; step++) {
            if (array.grow() != CUDA_SUCCESS) return 1;
            number<<<1, 256>>>((int *)array.start, step * (int)(array.chunk / sizeof(int)));
        }
        std::vector<int> seen(5 * array.chunk / sizeof(int));
        int wrong = 0;
        for (int step = 0; step < 5; step++) {
            size_t first = step * array.chunk / sizeof(int);
            cudaMemcpy(&seen[first], (int *)array.start + first, 256 * sizeof(int), cudaMemcpyDeviceToHost);
            for (size_t i = first; i < first + 256; i++) wrong += seen[i] != (int)i;
        }
        printf("%zu pieces of %zu bytes, %d wrong\n", array.handles.size(), array.chunk, wrong);
        CUdeviceptr odd;
        printf("%d\n", cuMemAddressReserve(&odd, 1000, 0, 0, 0));
        printf("%d\n", cuMemUnmap(array.start + 5 * array.chunk, array.chunk));
        printf("%d\n", cuMemUnmap(1 << 21, array.chunk));
    }
    cuDevicePrimaryCtxRelease(device);
}
