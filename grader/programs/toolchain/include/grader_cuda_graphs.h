// CUDA graphs: captured from a stream, or made node by node.
#pragma once
#include "grader_cuda_api.h"
#include "grader_cuda_memory.h"
struct CUgraph_st; struct CUgraphNode_st; struct CUgraphExec_st;
typedef CUgraph_st *cudaGraph_t;
typedef CUgraphNode_st *cudaGraphNode_t;
typedef CUgraphExec_st *cudaGraphExec_t;
enum cudaStreamCaptureMode { cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed };
enum cudaStreamCaptureStatus { cudaStreamCaptureStatusNone, cudaStreamCaptureStatusActive, cudaStreamCaptureStatusInvalidated };
enum cudaGraphNodeType {
    cudaGraphNodeTypeKernel, cudaGraphNodeTypeMemcpy, cudaGraphNodeTypeMemset, cudaGraphNodeTypeHost, cudaGraphNodeTypeGraph,
    cudaGraphNodeTypeEmpty, cudaGraphNodeTypeWaitEvent, cudaGraphNodeTypeEventRecord, cudaGraphNodeTypeExtSemaphoreSignal,
    cudaGraphNodeTypeExtSemaphoreWait, cudaGraphNodeTypeMemAlloc, cudaGraphNodeTypeMemFree, cudaGraphNodeTypeConditional = 13
};
enum cudaGraphMemAttributeType { cudaGraphMemAttrUsedMemCurrent, cudaGraphMemAttrUsedMemHigh, cudaGraphMemAttrReservedMemCurrent, cudaGraphMemAttrReservedMemHigh };
enum cudaGraphInstantiateFlags { cudaGraphInstantiateFlagAutoFreeOnLaunch = 1, cudaGraphInstantiateFlagUpload = 2, cudaGraphInstantiateFlagDeviceLaunch = 4, cudaGraphInstantiateFlagUseNodePriority = 8 };
struct cudaMemAllocNodeParams { cudaMemPoolProps poolProps; const cudaMemAccessDesc *accessDescs; size_t accessDescCount, bytesize; void *dptr; };
struct cudaKernelNodeParams { void *func; dim3 gridDim, blockDim; unsigned sharedMemBytes; void **kernelParams, **extra; };
struct cudaMemsetParams { void *dst; size_t pitch; unsigned value, elementSize; size_t width, height; };
struct cudaHostNodeParams { cudaHostFn_t fn; void *userData; };
GRADER_IMPORT("cudaStreamBeginCapture") GRADER_CHECKED cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode, GRADER_PLACE);
GRADER_IMPORT("cudaStreamEndCapture") GRADER_CHECKED cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph, GRADER_PLACE);
GRADER_IMPORT("cudaStreamIsCapturing") GRADER_CHECKED cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus *status, GRADER_PLACE);
GRADER_IMPORT("cudaGraphCreate") GRADER_CHECKED cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned flags, GRADER_PLACE);
GRADER_IMPORT("cudaGraphAddKernelNode") GRADER_CHECKED cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count, const cudaKernelNodeParams *parameters, GRADER_PLACE);
GRADER_IMPORT("cudaGraphAddMemsetNode") GRADER_CHECKED cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count, const cudaMemsetParams *parameters, GRADER_PLACE);
GRADER_IMPORT("cudaGraphAddMemcpyNode1D") GRADER_CHECKED cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count, void *to, const void *from, size_t bytes, cudaMemcpyKind kind, GRADER_PLACE);
GRADER_IMPORT("cudaGraphAddHostNode") GRADER_CHECKED cudaError_t cudaGraphAddHostNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count, const cudaHostNodeParams *parameters, GRADER_PLACE);
GRADER_IMPORT("cudaGraphAddEmptyNode") GRADER_CHECKED cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count, GRADER_PLACE);
GRADER_IMPORT("cudaGraphAddDependencies") GRADER_CHECKED cudaError_t grader_cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *before, const cudaGraphNode_t *after, size_t count, int line, const char *file);
GRADER_IMPORT("cudaGraphAddMemcpyNode") GRADER_CHECKED cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count, const cudaMemcpy3DParms *parameters, GRADER_PLACE);
GRADER_IMPORT("cudaGraphAddChildGraphNode") GRADER_CHECKED cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count, cudaGraph_t child, GRADER_PLACE);
GRADER_IMPORT("cudaGraphClone") GRADER_CHECKED cudaError_t cudaGraphClone(cudaGraph_t *copy, cudaGraph_t graph, GRADER_PLACE);
GRADER_IMPORT("cudaGraphUpload") GRADER_CHECKED cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream, GRADER_PLACE);
GRADER_IMPORT("cudaGraphKernelNodeSetParams") GRADER_CHECKED cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams *parameters, GRADER_PLACE);
GRADER_IMPORT("cudaGraphExecUpdate") GRADER_CHECKED cudaError_t grader_cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph, int line, const char *file);
GRADER_IMPORT("cudaGraphGetNodes") GRADER_CHECKED cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count, GRADER_PLACE);
GRADER_IMPORT("cudaGraphNodeGetType") GRADER_CHECKED cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType *type, GRADER_PLACE);
GRADER_IMPORT("cudaGraphAddMemAllocNode") GRADER_CHECKED cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count, cudaMemAllocNodeParams *parameters, GRADER_PLACE);
GRADER_IMPORT("cudaGraphAddMemFreeNode") GRADER_CHECKED cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count, void *memory, GRADER_PLACE);
GRADER_IMPORT("cudaDeviceGetGraphMemAttribute") GRADER_CHECKED cudaError_t cudaDeviceGetGraphMemAttribute(int device, cudaGraphMemAttributeType which, void *value, GRADER_PLACE);
GRADER_IMPORT("cudaDeviceSetGraphMemAttribute") GRADER_CHECKED cudaError_t cudaDeviceSetGraphMemAttribute(int device, cudaGraphMemAttributeType which, void *value, GRADER_PLACE);
GRADER_IMPORT("cudaDeviceGraphMemTrim") GRADER_CHECKED cudaError_t cudaDeviceGraphMemTrim(int device, GRADER_PLACE);
GRADER_IMPORT("cudaGraphInstantiate") GRADER_CHECKED cudaError_t grader_cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph, unsigned long long flags, int line, const char *file);
GRADER_IMPORT("cudaGraphLaunch") GRADER_CHECKED cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream, GRADER_PLACE);
GRADER_IMPORT("cudaGraphExecKernelNodeSetParams") GRADER_CHECKED cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node, const cudaKernelNodeParams *parameters, GRADER_PLACE);
GRADER_IMPORT("cudaGraphDestroy") GRADER_CHECKED cudaError_t cudaGraphDestroy(cudaGraph_t graph, GRADER_PLACE);
GRADER_IMPORT("cudaGraphExecDestroy") GRADER_CHECKED cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable, GRADER_PLACE);
// As CUDA 12 and 13 have it, and as CUDA 11 had it.
GRADER_CHECKED inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t *e, cudaGraph_t g, unsigned long long flags = 0, grader_place at = grader_place(__builtin_LINE(), __builtin_FILE())) { return grader_cudaGraphInstantiate(e, g, flags, at.line, at.file); }
GRADER_CHECKED inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t *e, cudaGraph_t g, cudaGraphNode_t *, char *, size_t, grader_place at = grader_place(__builtin_LINE(), __builtin_FILE())) { return grader_cudaGraphInstantiate(e, g, 0, at.line, at.file); }
GRADER_CHECKED inline cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *e, cudaGraph_t g, unsigned long long flags = 0, grader_place at = grader_place(__builtin_LINE(), __builtin_FILE())) { return grader_cudaGraphInstantiate(e, g, flags, at.line, at.file); }
struct cudaGraphEdgeData { unsigned char from_port, to_port, type, reserved[5]; };
GRADER_CHECKED inline cudaError_t cudaGraphAddDependencies(cudaGraph_t g, const cudaGraphNode_t *before, const cudaGraphNode_t *after, size_t count, grader_place at = grader_place(__builtin_LINE(), __builtin_FILE())) { return grader_cudaGraphAddDependencies(g, before, after, count, at.line, at.file); }
GRADER_CHECKED inline cudaError_t cudaGraphAddDependencies(cudaGraph_t g, const cudaGraphNode_t *before, const cudaGraphNode_t *after, const cudaGraphEdgeData *, size_t count, grader_place at = grader_place(__builtin_LINE(), __builtin_FILE())) { return grader_cudaGraphAddDependencies(g, before, after, count, at.line, at.file); }
enum cudaGraphExecUpdateResult { cudaGraphExecUpdateSuccess, cudaGraphExecUpdateError };
struct cudaGraphExecUpdateResultInfo { cudaGraphExecUpdateResult result; cudaGraphNode_t errorNode, errorFromNode; };
inline cudaGraphExecUpdateResult grader_update_result(cudaError_t error) { return error == cudaSuccess ? cudaGraphExecUpdateSuccess : cudaGraphExecUpdateError; }
GRADER_CHECKED inline cudaError_t cudaGraphExecUpdate(cudaGraphExec_t e, cudaGraph_t g, cudaGraphExecUpdateResultInfo *info, grader_place at = grader_place(__builtin_LINE(), __builtin_FILE())) { cudaError_t error = grader_cudaGraphExecUpdate(e, g, at.line, at.file); if (info) *info = {grader_update_result(error), nullptr, nullptr}; return error; }
GRADER_CHECKED inline cudaError_t cudaGraphExecUpdate(cudaGraphExec_t e, cudaGraph_t g, cudaGraphNode_t *node, cudaGraphExecUpdateResult *result, grader_place at = grader_place(__builtin_LINE(), __builtin_FILE())) { cudaError_t error = grader_cudaGraphExecUpdate(e, g, at.line, at.file); if (node) *node = nullptr; if (result) *result = grader_update_result(error); return error; }
// What a graph has, asked and changed.
#define GRADER_AT grader_place at = grader_place(__builtin_LINE(), __builtin_FILE())
GRADER_IMPORT("cudaGraphGetRootNodes") GRADER_CHECKED cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count, GRADER_PLACE);
GRADER_IMPORT("cudaGraphGetEdges") GRADER_CHECKED cudaError_t grader_cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *first, cudaGraphNode_t *then, size_t *count, int line, const char *file);
GRADER_IMPORT("cudaGraphNodeGetDependencies") GRADER_CHECKED cudaError_t grader_cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *count, int line, const char *file);
GRADER_IMPORT("cudaGraphNodeGetDependentNodes") GRADER_CHECKED cudaError_t grader_cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *count, int line, const char *file);
GRADER_IMPORT("cudaGraphRemoveDependencies") GRADER_CHECKED cudaError_t grader_cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *before, const cudaGraphNode_t *after, size_t count, int line, const char *file);
GRADER_IMPORT("cudaGraphDestroyNode") GRADER_CHECKED cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node, GRADER_PLACE);
GRADER_IMPORT("cudaGraphAddEventRecordNode") GRADER_CHECKED cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count, cudaEvent_t event, GRADER_PLACE);
GRADER_IMPORT("cudaGraphAddEventWaitNode") GRADER_CHECKED cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count, cudaEvent_t event, GRADER_PLACE);
GRADER_IMPORT("cudaGraphExecMemcpyNodeSetParams") GRADER_CHECKED cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node, const cudaMemcpy3DParms *parameters, GRADER_PLACE);
GRADER_IMPORT("cudaGraphExecMemsetNodeSetParams") GRADER_CHECKED cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node, const cudaMemsetParams *parameters, GRADER_PLACE);
GRADER_IMPORT("cudaGraphExecHostNodeSetParams") GRADER_CHECKED cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node, const cudaHostNodeParams *parameters, GRADER_PLACE);
GRADER_IMPORT("cudaGraphExecChildGraphNodeSetParams") GRADER_CHECKED cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node, cudaGraph_t child, GRADER_PLACE);
GRADER_IMPORT("cudaGraphMemcpyNodeSetParams") GRADER_CHECKED cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const cudaMemcpy3DParms *parameters, GRADER_PLACE);
GRADER_IMPORT("cudaGraphMemsetNodeSetParams") GRADER_CHECKED cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const cudaMemsetParams *parameters, GRADER_PLACE);
GRADER_IMPORT("cudaGraphHostNodeSetParams") GRADER_CHECKED cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node, const cudaHostNodeParams *parameters, GRADER_PLACE);
GRADER_IMPORT("cudaGraphExecMemcpyNodeSetParams1D") GRADER_CHECKED cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t executable, cudaGraphNode_t node, void *to, const void *from, size_t bytes, cudaMemcpyKind kind, GRADER_PLACE);
GRADER_CHECKED inline cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *to, const void *from, size_t bytes, cudaMemcpyKind kind, GRADER_AT) { return cudaGraphExecMemcpyNodeSetParams1D(nullptr, node, to, from, bytes, kind, at.line, at.file); }
GRADER_IMPORT("cudaGraphNodeFindInClone") GRADER_CHECKED cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t *node, cudaGraphNode_t original, cudaGraph_t clone, GRADER_PLACE);
GRADER_IMPORT("cudaGraphNodeSetEnabled") GRADER_CHECKED cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t executable, cudaGraphNode_t node, unsigned is_enabled, GRADER_PLACE);
GRADER_IMPORT("cudaGraphNodeGetEnabled") GRADER_CHECKED cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t executable, cudaGraphNode_t node, unsigned *is_enabled, GRADER_PLACE);
GRADER_IMPORT("cudaGraphKernelNodeGetParams") GRADER_CHECKED cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams *parameters, GRADER_PLACE);
GRADER_IMPORT("cudaGraphMemsetNodeGetParams") GRADER_CHECKED cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, cudaMemsetParams *parameters, GRADER_PLACE);
GRADER_IMPORT("cudaGraphHostNodeGetParams") GRADER_CHECKED cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t node, cudaHostNodeParams *parameters, GRADER_PLACE);
enum cudaGraphInstantiateResult { cudaGraphInstantiateSuccess, cudaGraphInstantiateError, cudaGraphInstantiateInvalidStructure, cudaGraphInstantiateNodeOperationNotSupported, cudaGraphInstantiateMultipleDevicesNotSupported };
struct cudaGraphInstantiateParams { unsigned long long flags; cudaStream_t uploadStream; cudaGraphNode_t errNode_out; cudaGraphInstantiateResult result_out; };
GRADER_CHECKED inline cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t *e, cudaGraph_t g, cudaGraphInstantiateParams *p, GRADER_AT) {
    cudaError_t error = grader_cudaGraphInstantiate(e, g, p->flags, at.line, at.file);
    p->errNode_out = nullptr;
    p->result_out = error == cudaSuccess ? cudaGraphInstantiateSuccess : cudaGraphInstantiateError;
    return error;
}
// Their edges carry no data: CUDA 13 asks for it, CUDA 12 with other names.
GRADER_CHECKED inline cudaError_t cudaGraphGetEdges(cudaGraph_t g, cudaGraphNode_t *first, cudaGraphNode_t *then, size_t *count, GRADER_AT) { return grader_cudaGraphGetEdges(g, first, then, count, at.line, at.file); }
GRADER_CHECKED inline cudaError_t cudaGraphGetEdges(cudaGraph_t g, cudaGraphNode_t *first, cudaGraphNode_t *then, cudaGraphEdgeData *data, size_t *count, GRADER_AT) { cudaError_t error = grader_cudaGraphGetEdges(g, first, then, count, at.line, at.file); for (size_t i = 0; data && first && error == cudaSuccess && i < *count; ++i) data[i] = {}; return error; }
GRADER_CHECKED inline cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *count, GRADER_AT) { return grader_cudaGraphNodeGetDependencies(node, nodes, count, at.line, at.file); }
GRADER_CHECKED inline cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *nodes, cudaGraphEdgeData *data, size_t *count, GRADER_AT) { cudaError_t error = grader_cudaGraphNodeGetDependencies(node, nodes, count, at.line, at.file); for (size_t i = 0; data && nodes && error == cudaSuccess && i < *count; ++i) data[i] = {}; return error; }
GRADER_CHECKED inline cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *count, GRADER_AT) { return grader_cudaGraphNodeGetDependentNodes(node, nodes, count, at.line, at.file); }
GRADER_CHECKED inline cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *nodes, cudaGraphEdgeData *data, size_t *count, GRADER_AT) { cudaError_t error = grader_cudaGraphNodeGetDependentNodes(node, nodes, count, at.line, at.file); for (size_t i = 0; data && nodes && error == cudaSuccess && i < *count; ++i) data[i] = {}; return error; }
GRADER_CHECKED inline cudaError_t cudaGraphRemoveDependencies(cudaGraph_t g, const cudaGraphNode_t *before, const cudaGraphNode_t *after, size_t count, GRADER_AT) { return grader_cudaGraphRemoveDependencies(g, before, after, count, at.line, at.file); }
GRADER_CHECKED inline cudaError_t cudaGraphRemoveDependencies(cudaGraph_t g, const cudaGraphNode_t *before, const cudaGraphNode_t *after, const cudaGraphEdgeData *, size_t count, GRADER_AT) { return grader_cudaGraphRemoveDependencies(g, before, after, count, at.line, at.file); }
// Nodes that run a graph of theirs as a number on the device says, which kernels set; and nodes of any kind by one call.
typedef unsigned long long cudaGraphConditionalHandle;
enum cudaGraphConditionalHandleFlags { cudaGraphCondAssignDefault = 1 };
enum cudaGraphConditionalNodeType { cudaGraphCondTypeIf, cudaGraphCondTypeWhile, cudaGraphCondTypeSwitch };
enum cudaStreamUpdateCaptureDependenciesFlags { cudaStreamAddCaptureDependencies, cudaStreamSetCaptureDependencies };
struct cudaConditionalNodeParams { cudaGraphConditionalHandle handle; cudaGraphConditionalNodeType type; unsigned size; cudaGraph_t *phGraph_out; void *ctx; };
struct cudaMemcpyNodeParams { int flags, reserved[3]; cudaMemcpy3DParms copyParams; };
struct cudaChildGraphNodeParams { cudaGraph_t graph; int ownership; };
struct cudaEventRecordNodeParams { cudaEvent_t event; };
struct cudaEventWaitNodeParams { cudaEvent_t event; };
struct cudaMemFreeNodeParams { void *dptr; };
typedef cudaKernelNodeParams cudaKernelNodeParamsV2;
typedef cudaMemsetParams cudaMemsetParamsV2;
typedef cudaHostNodeParams cudaHostNodeParamsV2;
typedef cudaMemAllocNodeParams cudaMemAllocNodeParamsV2;
struct cudaGraphNodeParams {
    cudaGraphNodeType type;
    int reserved0[3];
    union {
        long long reserved1[29];
        cudaKernelNodeParamsV2 kernel; cudaMemcpyNodeParams memcpy; cudaMemsetParamsV2 memset; cudaHostNodeParamsV2 host; cudaChildGraphNodeParams graph;
        cudaEventRecordNodeParams eventRecord; cudaEventWaitNodeParams eventWait; cudaMemAllocNodeParamsV2 alloc; cudaMemFreeNodeParams free; cudaConditionalNodeParams conditional;
    };
    long long reserved2;
};
GRADER_IMPORT("cudaGraphConditionalHandleCreate") GRADER_CHECKED cudaError_t grader_cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *handle, cudaGraph_t graph, unsigned first, unsigned flags, int line, const char *file);
GRADER_CHECKED inline cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *handle, cudaGraph_t g, unsigned first = 0, unsigned flags = 0, GRADER_AT) { return grader_cudaGraphConditionalHandleCreate(handle, g, first, flags, at.line, at.file); }
GRADER_IMPORT("cudaGraphAddConditionalNode") cudaError_t grader_cudaGraphAddConditionalNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count, cudaGraphConditionalHandle handle, int type, size_t size, cudaGraph_t *bodies, int line, const char *file);
GRADER_CHECKED inline cudaError_t cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t g, const cudaGraphNode_t *after, const cudaGraphEdgeData *, size_t count, cudaGraphNodeParams *p, GRADER_AT) {
    switch (p->type) {
    case cudaGraphNodeTypeKernel: return cudaGraphAddKernelNode(node, g, after, count, &p->kernel, at.line, at.file);
    case cudaGraphNodeTypeMemcpy: return cudaGraphAddMemcpyNode(node, g, after, count, &p->memcpy.copyParams, at.line, at.file);
    case cudaGraphNodeTypeMemset: return cudaGraphAddMemsetNode(node, g, after, count, &p->memset, at.line, at.file);
    case cudaGraphNodeTypeHost: return cudaGraphAddHostNode(node, g, after, count, &p->host, at.line, at.file);
    case cudaGraphNodeTypeGraph: return cudaGraphAddChildGraphNode(node, g, after, count, p->graph.graph, at.line, at.file);
    case cudaGraphNodeTypeEmpty: return cudaGraphAddEmptyNode(node, g, after, count, at.line, at.file);
    case cudaGraphNodeTypeWaitEvent: return cudaGraphAddEventWaitNode(node, g, after, count, p->eventWait.event, at.line, at.file);
    case cudaGraphNodeTypeEventRecord: return cudaGraphAddEventRecordNode(node, g, after, count, p->eventRecord.event, at.line, at.file);
    case cudaGraphNodeTypeMemAlloc: return cudaGraphAddMemAllocNode(node, g, after, count, &p->alloc, at.line, at.file);
    case cudaGraphNodeTypeMemFree: return cudaGraphAddMemFreeNode(node, g, after, count, p->free.dptr, at.line, at.file);
    case cudaGraphNodeTypeConditional: {
        // The array is the library's own, as long as the graph lives.
        cudaGraph_t *bodies = (cudaGraph_t *)malloc(sizeof(cudaGraph_t) * (p->conditional.size ? p->conditional.size : 1));
        if (!bodies) return cudaErrorMemoryAllocation;
        p->conditional.phGraph_out = bodies;
        return grader_cudaGraphAddConditionalNode(node, g, after, count, p->conditional.handle, p->conditional.type, p->conditional.size, bodies, at.line, at.file);
    }
    default: return cudaErrorNotSupported;
    }
}
GRADER_CHECKED inline cudaError_t cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t g, const cudaGraphNode_t *after, size_t count, cudaGraphNodeParams *p, GRADER_AT) { return cudaGraphAddNode(node, g, after, (const cudaGraphEdgeData *)nullptr, count, p, at); }
GRADER_CHECKED inline cudaError_t cudaGraphAddNode_v2(cudaGraphNode_t *node, cudaGraph_t g, const cudaGraphNode_t *after, const cudaGraphEdgeData *data, size_t count, cudaGraphNodeParams *p, GRADER_AT) { return cudaGraphAddNode(node, g, after, data, count, p, at); }
GRADER_IMPORT("cudaStreamBeginCaptureToGraph") cudaError_t grader_cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count, cudaStreamCaptureMode mode, int line, const char *file);
GRADER_CHECKED inline cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t s, cudaGraph_t g, const cudaGraphNode_t *after, const cudaGraphEdgeData *, size_t count, cudaStreamCaptureMode mode, GRADER_AT) { return grader_cudaStreamBeginCaptureToGraph(s, g, after, count, mode, at.line, at.file); }
GRADER_IMPORT("cudaStreamGetCaptureInfo") cudaError_t grader_cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus *status, unsigned long long *id, cudaGraph_t *graph, cudaGraphNode_t *nodes, size_t room, size_t *count, int line, const char *file);
GRADER_CHECKED inline cudaError_t cudaStreamGetCaptureInfo(cudaStream_t s, cudaStreamCaptureStatus *status, unsigned long long *id = nullptr, cudaGraph_t *g = nullptr, const cudaGraphNode_t **nodes = nullptr, size_t *count = nullptr, GRADER_AT) {
    // What it points to holds until the next call.
    static cudaGraphNode_t last[1024];
    size_t n = 0;
    cudaError_t error = grader_cudaStreamGetCaptureInfo(s, status, id, g, last, 1024, &n, at.line, at.file);
    if (nodes) *nodes = last;
    if (count) *count = n;
    return error == cudaSuccess && n > 1024 ? cudaErrorMemoryAllocation : error;
}
GRADER_CHECKED inline cudaError_t cudaStreamGetCaptureInfo(cudaStream_t s, cudaStreamCaptureStatus *status, unsigned long long *id, cudaGraph_t *g, const cudaGraphNode_t **nodes, const cudaGraphEdgeData **data, size_t *count, GRADER_AT) { if (data) *data = nullptr; return cudaStreamGetCaptureInfo(s, status, id, g, nodes, count, at); }
#define cudaStreamGetCaptureInfo_v2 cudaStreamGetCaptureInfo
#define cudaStreamGetCaptureInfo_v3 cudaStreamGetCaptureInfo
GRADER_IMPORT("cudaStreamUpdateCaptureDependencies") cudaError_t grader_cudaStreamUpdateCaptureDependencies(cudaStream_t stream, const cudaGraphNode_t *nodes, size_t count, unsigned flags, int line, const char *file);
GRADER_CHECKED inline cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t s, cudaGraphNode_t *nodes, size_t count, unsigned flags = 0, GRADER_AT) { return grader_cudaStreamUpdateCaptureDependencies(s, nodes, count, flags, at.line, at.file); }
GRADER_CHECKED inline cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t s, cudaGraphNode_t *nodes, const cudaGraphEdgeData *, size_t count, unsigned flags = 0, GRADER_AT) { return grader_cudaStreamUpdateCaptureDependencies(s, nodes, count, flags, at.line, at.file); }
#undef GRADER_AT
