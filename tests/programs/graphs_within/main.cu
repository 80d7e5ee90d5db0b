// A graph within a graph, copied and updated; edges with and without their data; a copy of three dimensions.
#include <cstdio>

#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) printf("%d: %s\n", __LINE__, cudaGetErrorName(e)); } while (0)

__global__ void add(int *values, int n, int by) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] += by;
}

static void dependent(cudaGraph_t graph, cudaGraphNode_t *before, cudaGraphNode_t *after) {
#if CUDART_VERSION >= 13000
    CHECK(cudaGraphAddDependencies(graph, before, after, nullptr, 1));
#else
    CHECK(cudaGraphAddDependencies(graph, before, after, 1));
#endif
}

int main() {
    const int n = 64;
    int *values, length = n, by = 1, host[n];
    CHECK(cudaMalloc(&values, n * sizeof(int)));
    CHECK(cudaMemset(values, 0, n * sizeof(int)));
    void *arguments[] = {&values, &length, &by};
    cudaKernelNodeParams adding = {(void *)add, dim3(2), dim3(32), 0, arguments, NULL};
    cudaGraph_t inner, outer, copy, captured;
    cudaGraphNode_t first, second, child, copied;
    CHECK(cudaGraphCreate(&inner, 0));
    CHECK(cudaGraphAddKernelNode(&first, inner, NULL, 0, &adding));
    by = 10;
    CHECK(cudaGraphAddKernelNode(&second, inner, NULL, 0, &adding));
    dependent(inner, &first, &second);
    CHECK(cudaGraphCreate(&outer, 0));
    CHECK(cudaGraphAddChildGraphNode(&child, outer, NULL, 0, inner));
    cudaMemcpy3DParms whole = {};
    whole.srcPtr = make_cudaPitchedPtr(values, n * sizeof(int), n, 1);
    whole.dstPtr = make_cudaPitchedPtr(host, n * sizeof(int), n, 1);
    whole.extent = make_cudaExtent(n * sizeof(int), 1, 1);
    whole.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaGraphAddMemcpyNode(&copied, outer, &child, 1, &whole));
    CHECK(cudaGraphClone(&copy, outer));
    CHECK(cudaGraphDestroy(inner));

    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    cudaGraphExec_t executable, again;
    CHECK(cudaGraphInstantiateWithFlags(&executable, outer, 0));
    CHECK(cudaGraphDestroy(outer));
    CHECK(cudaGraphUpload(executable, stream));
    CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaStreamSynchronize(stream));
    printf("%d\n", host[63]);
    CHECK(cudaGraphInstantiate(&again, copy, 0));
    CHECK(cudaGraphLaunch(again, stream));
    CHECK(cudaStreamSynchronize(stream));
    printf("%d\n", host[63]);
    CHECK(cudaGraphExecDestroy(executable));
    CHECK(cudaGraphExecDestroy(again));
    CHECK(cudaGraphDestroy(copy));

    // An iteration captured anew, its numbers given to the executable graph that there is.
    executable = NULL;
    for (int step = 1; step <= 3; step++) {
        CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        add<<<2, 32, 0, stream>>>(values, n, 100 * step);
        CHECK(cudaStreamEndCapture(stream, &captured));
        if (executable == NULL) {
            CHECK(cudaGraphInstantiate(&executable, captured, 0));
        } else {
#if CUDART_VERSION >= 12000
            cudaGraphExecUpdateResultInfo info;
            CHECK(cudaGraphExecUpdate(executable, captured, &info));
            if (info.result != cudaGraphExecUpdateSuccess) printf("no update\n");
#endif
        }
        CHECK(cudaGraphDestroy(captured));
        CHECK(cudaGraphLaunch(executable, stream));
    }
    CHECK(cudaMemcpyAsync(host, values, sizeof host, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    printf("%d\n", host[0]);
    CHECK(cudaGraphCreate(&outer, 0));
    printf("%s\n", cudaGetErrorName(cudaGraphExecUpdate(executable, outer, NULL)));
    CHECK(cudaGraphDestroy(outer));
    CHECK(cudaGraphExecDestroy(executable));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(values));
    return 0;
}
