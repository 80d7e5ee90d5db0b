// Conditional nodes of CUDA graphs: if and else, while, switch; captured into a graph and made node by node.
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                            \
    do {                                                                                       \
        cudaError_t error = (call);                                                            \
        if (error != cudaSuccess) {                                                            \
            std::printf("line %d: %s\n", __LINE__, cudaGetErrorName(error));                   \
            std::exit(1);                                                                      \
        }                                                                                      \
    } while (0)

__global__ void choose(const int *from, cudaGraphConditionalHandle handle) { cudaGraphSetConditional(handle, *from); }

__global__ void add(int *to, int value) { *to += value; }

__global__ void count_down(int *left, int *steps, cudaGraphConditionalHandle handle) {
    *steps += 1;
    *left -= 1;
    cudaGraphSetConditional(handle, *left > 0);
}

cudaGraphNodeParams kernel_node(void *function, void **arguments) {
    cudaGraphNodeParams node = {cudaGraphNodeTypeKernel};
    node.kernel.func = function;
    node.kernel.gridDim = dim3(1);
    node.kernel.blockDim = dim3(1);
    node.kernel.kernelParams = arguments;
    return node;
}

int main() {
    int *values;
    CHECK(cudaMallocManaged(&values, 4 * sizeof(int)));
    int *from = values, *to = values + 1, *steps = values + 2;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));

    // Of one kind after another: which body adds what.
    for (cudaGraphConditionalNodeType kind : {cudaGraphCondTypeIf, cudaGraphCondTypeSwitch}) {
        unsigned size = kind == cudaGraphCondTypeIf ? 2 : 3;
        cudaGraph_t graph;
        CHECK(cudaGraphCreate(&graph, 0));
        cudaGraphConditionalHandle handle;
        CHECK(cudaGraphConditionalHandleCreate(&handle, graph));
        void *arguments[] = {&from, &handle};
        cudaGraphNodeParams first = kernel_node((void *)choose, arguments);
        cudaGraphNode_t chooser, conditional;
        CHECK(cudaGraphAddNode(&chooser, graph, nullptr, nullptr, 0, &first));
        cudaGraphNodeParams node = {cudaGraphNodeTypeConditional};
        node.conditional.handle = handle;
        node.conditional.type = kind;
        node.conditional.size = size;
        CHECK(cudaGraphAddNode(&conditional, graph, &chooser, nullptr, 1, &node));
        int value = 1;
        for (unsigned body = 0; body < size; body++, value *= 10) {
            void *adds[] = {&to, &value};
            cudaGraphNodeParams adder = kernel_node((void *)add, adds);
            cudaGraphNode_t added;
            CHECK(cudaGraphAddNode(&added, node.conditional.phGraph_out[body], nullptr, nullptr, 0, &adder));
        }
        size_t nodes = 0, edges = 0;
        CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
        CHECK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
        cudaGraphNodeType type;
        CHECK(cudaGraphNodeGetType(conditional, &type));
        std::printf("%zu nodes, %zu edges, type %d:", nodes, edges, type);
        cudaGraphExec_t executable;
        CHECK(cudaGraphInstantiate(&executable, graph, 0));
        for (int condition = 0; condition < 4; condition++) {
            *from = condition;
            *to = 0;
            CHECK(cudaGraphLaunch(executable, stream));
            CHECK(cudaStreamSynchronize(stream));
            std::printf(" %d", *to);
        }
        std::printf("\n");
        CHECK(cudaGraphExecDestroy(executable));
        CHECK(cudaGraphDestroy(graph));
    }

    // A loop that begins by itself, in the middle of what a stream captures.
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    add<<<1, 1, 0, stream>>>(to, 100);
    cudaStreamCaptureStatus status;
    cudaGraph_t graph;
    const cudaGraphNode_t *last;
    size_t count;
    CHECK(cudaStreamGetCaptureInfo(stream, &status, nullptr, &graph, &last, nullptr, &count));
    std::printf("capturing %d, after %zu\n", status, count);
    cudaGraphConditionalHandle again;
    CHECK(cudaGraphConditionalHandleCreate(&again, graph, 1, cudaGraphCondAssignDefault));
    cudaGraphNodeParams loop = {cudaGraphNodeTypeConditional};
    loop.conditional.handle = again;
    loop.conditional.type = cudaGraphCondTypeWhile;
    loop.conditional.size = 1;
    cudaGraphNode_t looping;
    CHECK(cudaGraphAddNode(&looping, graph, last, nullptr, count, &loop));
    CHECK(cudaStreamUpdateCaptureDependencies(stream, &looping, nullptr, 1, cudaStreamSetCaptureDependencies));
    add<<<1, 1, 0, stream>>>(to, 1000);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaStreamBeginCaptureToGraph(stream, loop.conditional.phGraph_out[0], nullptr, nullptr, 0,
                                        cudaStreamCaptureModeGlobal));
    count_down<<<1, 1, 0, stream>>>(from, steps, again);
    CHECK(cudaStreamEndCapture(stream, nullptr));
    cudaGraphExec_t executable;
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    *to = *steps = 0;
    for (int times : {5, 1}) {
        *from = times;
        CHECK(cudaGraphLaunch(executable, stream));
        CHECK(cudaStreamSynchronize(stream));
        std::printf("%d steps, %d\n", *steps, *to);
    }
    CHECK(cudaGraphExecDestroy(executable));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(values));
}
