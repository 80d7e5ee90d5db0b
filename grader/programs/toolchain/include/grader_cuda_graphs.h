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
    cudaGraphNodeTypeExtSemaphoreWait, cudaGraphNodeTypeMemAlloc, cudaGraphNodeTypeMemFree
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
