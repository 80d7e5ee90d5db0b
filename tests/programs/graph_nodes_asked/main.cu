// What nodes of a graph were made with, asked and used again; nodes left out; what arrays and page-locked memory are.
#include <cstdio>

__global__ void add(float *p, float v, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] += v;
}

float first_of(float *d) {
    float h;
    cudaMemcpy(&h, d, sizeof h, cudaMemcpyDeviceToHost);
    return h;
}

void called(void *data) { printf("called %d\n", *(int *)data); }

int main() {
    const int n = 1024;
    float *d;
    cudaMalloc(&d, n * sizeof(float));
    cudaMemset(d, 0, n * sizeof(float));
    cudaStream_t s;
    cudaStreamCreate(&s);
    cudaGraph_t g, copy;
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    for (int i = 0; i < 3; i++) add<<<4, 256, 0, s>>>(d, i + 1, n);
    cudaStreamEndCapture(s, &g);
    cudaGraphNode_t nodes[8], other, fill, host;
    size_t count = 8;
    cudaGraphGetNodes(g, nodes, &count);
    cudaKernelNodeParams kernel = {};
    printf("%zu %s\n", count, cudaGetErrorName(cudaGraphKernelNodeGetParams(nodes[1], &kernel)));
    printf("%u %u %u %g %d %d\n", kernel.gridDim.x, kernel.blockDim.x, kernel.sharedMemBytes, *(float *)kernel.kernelParams[1],
           *(int *)kernel.kernelParams[2], kernel.func == (void *)add);
    cudaGraphExec_t e;
    cudaGraphInstantiateParams how = {};
    printf("%s %d\n", cudaGetErrorName(cudaGraphInstantiateWithParams(&e, g, &how)), how.result_out);
    cudaGraphLaunch(e, s);
    cudaStreamSynchronize(s);
    printf("%g\n", first_of(d));
    // The arguments that were asked for, one of them another.
    float more = 100;
    kernel.kernelParams[1] = &more;
    cudaGraphExecKernelNodeSetParams(e, nodes[1], &kernel);
    cudaGraphNodeSetEnabled(e, nodes[2], 0);
    unsigned enabled[2];
    cudaGraphNodeGetEnabled(e, nodes[1], &enabled[0]);
    cudaGraphNodeGetEnabled(e, nodes[2], &enabled[1]);
    cudaGraphLaunch(e, s);
    cudaStreamSynchronize(s);
    printf("%g %u %u\n", first_of(d), enabled[0], enabled[1]);
    cudaGraphClone(&copy, g);
    printf("%s\n", cudaGetErrorName(cudaGraphNodeFindInClone(&other, nodes[2], copy)));
    cudaGraphNodeType type;
    cudaGraphNodeGetType(other, &type);
    cudaGraphKernelNodeGetParams(other, &kernel);
    printf("%d %d %g\n", other != nodes[2], type == cudaGraphNodeTypeKernel, *(float *)kernel.kernelParams[1]);
    cudaMemsetParams filling = {};
    filling.dst = d, filling.value = 7, filling.elementSize = 4, filling.width = n, filling.height = 1;
    cudaGraphAddMemsetNode(&fill, copy, &other, 1, &filling);
    int number = 5;
    cudaHostNodeParams calling = {called, &number};
    cudaGraphAddHostNode(&host, copy, &fill, 1, &calling);
    filling = {}, calling = {};
    cudaGraphMemsetNodeGetParams(fill, &filling);
    cudaGraphHostNodeGetParams(host, &calling);
    printf("%u %u %zu\n", filling.value, filling.elementSize, filling.width);
    calling.fn(calling.userData);
    printf("%s\n", cudaGetErrorName(cudaGraphKernelNodeGetParams(host, &kernel)));

    // Captured nodes are asked as well; a clone that has lost a node knows the others by their own.
    cudaGraph_t captured, lost;
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    cudaMemsetAsync(d, 9, n, s);
    cudaLaunchHostFunc(s, called, &number);
    cudaStreamEndCapture(s, &captured);
    count = 2;
    cudaGraphGetNodes(captured, nodes + 3, &count);
    filling = {}, calling = {};
    cudaGraphMemsetNodeGetParams(nodes[3], &filling);
    cudaGraphHostNodeGetParams(nodes[4], &calling);
    printf("%u %zu %d\n", filling.value, filling.width * filling.elementSize, calling.userData == &number);
    cudaGraphClone(&lost, g);
    cudaGraphNodeFindInClone(&other, nodes[0], lost);
    cudaGraphDestroyNode(other);
    bool is_gone = cudaGraphNodeFindInClone(&other, nodes[0], lost) != cudaSuccess;
    cudaGetLastError();
    cudaGraphNodeFindInClone(&other, nodes[2], lost);
    cudaGraphKernelNodeGetParams(other, &kernel);
    printf("%d %g\n", is_gone, *(float *)kernel.kernelParams[1]);

    cudaArray_t a, b;
    cudaChannelFormatDesc floats = cudaCreateChannelDesc<float2>(), asked;
    cudaMallocArray(&a, &floats, 8, 4, cudaArraySurfaceLoadStore);
    cudaMallocArray(&b, &floats, 8, 4);
    cudaExtent extent;
    unsigned flags;
    cudaArrayGetInfo(&asked, &extent, &flags, a);
    printf("%d %d %zu %zu %zu %u\n", asked.x, asked.w, extent.width, extent.height, extent.depth, flags);
    float2 in[32], out[32] = {};
    for (int i = 0; i < 32; i++) in[i] = make_float2(i, -i);
    cudaMemcpy2DToArrayAsync(a, 0, 0, in, 64, 64, 4, cudaMemcpyHostToDevice, s);
    cudaStreamSynchronize(s);
    cudaMemcpy2DArrayToArray(b, 16, 1, a, 0, 0, 32, 2, cudaMemcpyDeviceToDevice);
    cudaMemcpy2DFromArrayAsync(out, 32, b, 16, 1, 32, 2, cudaMemcpyDeviceToHost, s);
    cudaStreamSynchronize(s);
    printf("%g %g %g %g\n", out[0].x, out[3].x, out[4].x, out[7].y);
    // A copy of rows that is captured is made when the graph is launched.
    in[0].x = 77;
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    cudaMemcpy2DToArrayAsync(a, 0, 0, in, 64, 64, 4, cudaMemcpyHostToDevice, s);
    cudaStreamEndCapture(s, &captured);
    cudaGraphInstantiate(&e, captured, 0);
    for (int time = 0; time < 2; time++) {
        cudaMemcpy2DFromArray(out, 64, a, 0, 0, 64, 1, cudaMemcpyDeviceToHost);
        printf("%g ", out[0].x);
        cudaGraphLaunch(e, s);
        cudaStreamSynchronize(s);
    }
    puts("");

    int *pinned, *none, device = 0;
    unsigned of_device;
    cudaHostAlloc(&pinned, 64, cudaHostAllocPortable);
    cudaHostGetFlags(&flags, pinned);
    cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync);
    cudaGetDeviceFlags(&of_device);
    printf("%u %u %s %d\n", flags, of_device, cudaGetErrorName(cudaMallocHost(&none, 0)), none == NULL);
    char id[32];
    cudaDeviceGetPCIBusId(id, 32, 0);
    printf("%s %d\n", cudaGetErrorName(cudaDeviceGetByPCIBusId(&device, id)), device);
    cudaFuncCache cache;
    printf("%s %s\n", cudaGetErrorName(cudaDeviceGetCacheConfig(&cache)), cudaGetErrorName(cudaInitDevice(0, 0, 0)));
    return 0;
}
