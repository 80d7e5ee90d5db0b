// CUDA graphs: captured over two streams and launched three times; made node by node, with a kernel's arguments changed;
// what cannot be captured returns its error.
#include <cstdio>
#include <cublas_v2.h>

#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) printf("%d: %s\n", __LINE__, cudaGetErrorName(e)); } while (0)

__global__ void add(int *values, int n, int by) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] += by;
}

__global__ void twice(int *values, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] *= 2;
}

void called(void *count) { ++*(int *)count; }

int main() {
    const int n = 100;
    int *a, *b, host[n], calls = 0;
    CHECK(cudaMalloc(&a, n * sizeof(int)));
    CHECK(cudaMalloc(&b, n * sizeof(int)));
    CHECK(cudaMemset(a, 0, n * sizeof(int)));
    CHECK(cudaMemset(b, 0, n * sizeof(int)));
    cudaStream_t one, other;
    CHECK(cudaStreamCreate(&one));
    CHECK(cudaStreamCreate(&other));
    cudaEvent_t forked, joined;
    CHECK(cudaEventCreate(&forked));
    CHECK(cudaEventCreate(&joined));

    cudaGraph_t graph;
    cudaGraphExec_t executable;
    cudaStreamCaptureStatus status;
    CHECK(cudaStreamBeginCapture(one, cudaStreamCaptureModeGlobal));
    CHECK(cudaStreamIsCapturing(one, &status));
    add<<<4, 32, 0, one>>>(a, n, 1);
    CHECK(cudaEventRecord(forked, one));
    CHECK(cudaStreamWaitEvent(other, forked, 0));
    add<<<4, 32, 0, other>>>(b, n, 10);
    twice<<<4, 32, 0, one>>>(a, n);
    CHECK(cudaEventRecord(joined, other));
    CHECK(cudaStreamWaitEvent(one, joined, 0));
    CHECK(cudaLaunchHostFunc(one, called, &calls));
    printf("%s\n", cudaGetErrorName(cudaStreamSynchronize(one)));
    CHECK(cudaStreamEndCapture(one, &graph));
    size_t count = 0;
    CHECK(cudaGraphGetNodes(graph, nullptr, &count));
    printf("%d %zu %d\n", status == cudaStreamCaptureStatusActive, count, calls);
    CHECK(cudaGraphInstantiate(&executable, graph, NULL, NULL, 0));
    for (int i = 0; i < 3; i++) CHECK(cudaGraphLaunch(executable, one));
    CHECK(cudaStreamSynchronize(one));
    CHECK(cudaMemcpy(host, a, sizeof host, cudaMemcpyDeviceToHost));
    printf("%d ", host[99]);
    CHECK(cudaMemcpy(host, b, sizeof host, cudaMemcpyDeviceToHost));
    printf("%d %d\n", host[99], calls);
    CHECK(cudaGraphExecDestroy(executable));
    CHECK(cudaGraphDestroy(graph));

    // A library's call is kept with the host's number and the handle's mode of that moment.
    cublasHandle_t handle;
    float *vector, *total, first = 2, sum;
    cublasCreate(&handle);
    CHECK(cudaMalloc(&vector, n * sizeof(float)));
    CHECK(cudaMalloc(&total, sizeof(float)));
    for (int i = 0; i < n; i++) CHECK(cudaMemcpy(vector + i, &first, sizeof first, cudaMemcpyHostToDevice));
    cublasSetStream(handle, one);
    CHECK(cudaStreamBeginCapture(one, cudaStreamCaptureModeGlobal));
    printf("%d ", cublasSscal(handle, n, &first, vector, 1));
    cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE);
    printf("%d ", cublasSasum(handle, n, vector, 1, total));
    CHECK(cudaMemcpyAsync(&sum, total, sizeof sum, cudaMemcpyDeviceToHost, one));
    CHECK(cudaStreamEndCapture(one, &graph));
    cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST);
    first = 1000;
    CHECK(cudaGraphInstantiate(&executable, graph, NULL, NULL, 0));
    for (int i = 0; i < 3; i++) CHECK(cudaGraphLaunch(executable, one));
    CHECK(cudaStreamSynchronize(one));
    printf("%g\n", sum);
    CHECK(cudaGraphExecDestroy(executable));
    CHECK(cudaGraphDestroy(graph));
    cublasDestroy(handle);
    CHECK(cudaFree(vector));
    CHECK(cudaFree(total));

    // twice waits for add, though it was added first.
    int length = n, by = 7;
    void *of_add[] = {&a, &length, &by}, *of_twice[] = {&a, &length};
    cudaKernelNodeParams adding = {(void *)add, dim3(4), dim3(32), 0, of_add, NULL}, doubling = adding;
    doubling.func = (void *)twice;
    doubling.kernelParams = of_twice;
    cudaMemsetParams clearing = {a, 0, 0, 4, (size_t)n, 1};
    cudaGraphNode_t cleared, added, doubled, copied;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddKernelNode(&doubled, graph, NULL, 0, &doubling));
    CHECK(cudaGraphAddMemsetNode(&cleared, graph, NULL, 0, &clearing));
    CHECK(cudaGraphAddKernelNode(&added, graph, &cleared, 1, &adding));
    CHECK(cudaGraphAddMemcpyNode1D(&copied, graph, &doubled, 1, host, a, sizeof host, cudaMemcpyDeviceToHost));
    CHECK(cudaGraphAddDependencies(graph, &added, &doubled, 1));
    by = 1000;
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    CHECK(cudaGraphLaunch(executable, one));
    CHECK(cudaStreamSynchronize(one));
    printf("%d\n", host[0]);
    CHECK(cudaGraphExecKernelNodeSetParams(executable, added, &adding));
    CHECK(cudaGraphLaunch(executable, one));
    CHECK(cudaStreamSynchronize(one));
    printf("%d\n", host[0]);
    clearing.value = 70000;
    CHECK(cudaGraphExecMemsetNodeSetParams(executable, cleared, &clearing));
    CHECK(cudaGraphLaunch(executable, one));
    CHECK(cudaStreamSynchronize(one));
    printf("%d %d\n", host[0], host[n - 1]);
    CHECK(cudaGraphExecDestroy(executable));
    CHECK(cudaGraphAddDependencies(graph, &copied, &cleared, 1));
    printf("%s\n", cudaGetErrorName(cudaGraphInstantiate(&executable, graph, 0)));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    return 0;
}
