// Nodes of graphs that allocate and free: added, captured, freed outside of the graph and at the next launch.
#include <cstdio>

__global__ void fill(int *to, int n, int value)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = value + i;
}

__global__ void add(int *sum, const int *from, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) sum[i] += from[i];
}

static void print_memory(const char *when)
{
    size_t used, reserved, high;
    cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &used);
    cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &reserved);
    cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &high);
    printf("%s: %zu %zu %zu\n", when, used >> 20, reserved >> 20, high >> 20);
}

int main()
{
    const int n = 1000;
    int *sum, value = 5, count = n;
    cudaMalloc(&sum, n * sizeof(int));
    cudaMemset(sum, 0, n * sizeof(int));
    cudaMemAllocNodeParams wanted = {};
    wanted.poolProps.allocType = cudaMemAllocationTypePinned;
    wanted.poolProps.location.type = cudaMemLocationTypeDevice;
    wanted.bytesize = 64 << 20;

    cudaGraph_t graph;
    cudaGraphNode_t allocated, filled, added, freed, again;
    cudaGraphCreate(&graph, 0);
    cudaGraphAddMemAllocNode(&allocated, graph, nullptr, 0, &wanted);
    void *first = wanted.dptr;
    void *fills[] = {&first, &count, &value}, *adds[] = {&sum, &first, &count};
    cudaKernelNodeParams kernel = {(void *)fill, dim3(4), dim3(256), 0, fills, nullptr};
    cudaGraphAddKernelNode(&filled, graph, &allocated, 1, &kernel);
    kernel.func = (void *)add;
    kernel.kernelParams = adds;
    cudaGraphAddKernelNode(&added, graph, &filled, 1, &kernel);
    cudaGraphAddMemFreeNode(&freed, graph, &added, 1, first);
    // What is freed by then has its address again.
    cudaGraphAddMemAllocNode(&again, graph, &freed, 1, &wanted);
    printf("same address: %d\n", wanted.dptr == first);
    cudaGraphNodeType type;
    cudaGraphNodeGetType(freed, &type);
    printf("frees: %d\n", type == cudaGraphNodeTypeMemFree);

    cudaGraphExec_t once, often;
    cudaGraphInstantiate(&once, graph, 0);
    printf("twice: %s\n", cudaGetErrorName(cudaGraphInstantiate(&often, graph, 0)));
    print_memory("before");
    cudaGraphLaunch(once, 0);
    cudaDeviceSynchronize();
    print_memory("launched");
    printf("not freed: %s\n", cudaGetErrorName(cudaGraphLaunch(once, 0)));
    cudaFree(first);
    printf("freed: %s\n", cudaGetErrorName(cudaGraphLaunch(once, 0)));
    cudaDeviceSynchronize();
    cudaFree(first);
    cudaGraphExecDestroy(once);
    cudaGraphInstantiate(&often, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch);
    cudaGraphLaunch(often, 0);
    cudaGraphLaunch(often, 0);
    cudaFreeAsync(first, 0);
    cudaDeviceSynchronize();
    cudaDeviceGraphMemTrim(0);
    print_memory("trimmed");

    cudaStream_t stream;
    cudaGraph_t captured;
    cudaGraphExec_t executable;
    cudaStreamCreate(&stream);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    int *between;
    cudaMallocAsync(&between, n * sizeof(int), stream);
    fill<<<4, 256, 0, stream>>>(between, n, 100);
    add<<<4, 256, 0, stream>>>(sum, between, n);
    cudaFreeAsync(between, stream);
    cudaStreamEndCapture(stream, &captured);
    cudaGraphInstantiate(&executable, captured, 0);
    for (int i = 0; i < 3; i++) cudaGraphLaunch(executable, stream);
    cudaStreamSynchronize(stream);
    int result[n];
    cudaMemcpy(result, sum, sizeof result, cudaMemcpyDeviceToHost);
    printf("%d %d %s\n", result[0], result[n - 1], cudaGetErrorName(cudaGetLastError()));
    cudaGraphExecDestroy(executable);
    cudaGraphExecDestroy(often);
    cudaGraphDestroy(captured);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
    cudaFree(sum);
}
