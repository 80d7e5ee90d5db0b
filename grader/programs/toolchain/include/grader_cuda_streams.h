// What is asked of streams and told to them beside work: attributes, parts of the L2 cache, priorities.
#pragma once
#include "grader_cuda_api.h"
typedef cudaLaunchAttributeID cudaStreamAttrID;
typedef cudaLaunchAttributeValue cudaStreamAttrValue;
typedef cudaLaunchAttributeID cudaKernelNodeAttrID;
typedef cudaLaunchAttributeValue cudaKernelNodeAttrValue;
#define cudaStreamAttributeAccessPolicyWindow cudaLaunchAttributeAccessPolicyWindow
#define cudaStreamAttributeSynchronizationPolicy cudaLaunchAttributeSynchronizationPolicy
#define cudaStreamAttributePriority cudaLaunchAttributePriority
#define cudaStreamAttributeMemSyncDomainMap cudaLaunchAttributeMemSyncDomainMap
#define cudaStreamAttributeMemSyncDomain cudaLaunchAttributeMemSyncDomain
#define cudaKernelNodeAttributeAccessPolicyWindow cudaLaunchAttributeAccessPolicyWindow
#define cudaKernelNodeAttributeCooperative cudaLaunchAttributeCooperative
#define cudaKernelNodeAttributePriority cudaLaunchAttributePriority
#define cudaKernelNodeAttributeClusterDimension cudaLaunchAttributeClusterDimension
GRADER_IMPORT("cudaStreamSetAttribute") GRADER_CHECKED cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID which, const cudaStreamAttrValue *value, GRADER_PLACE);
GRADER_IMPORT("cudaStreamGetAttribute") GRADER_CHECKED cudaError_t cudaStreamGetAttribute(cudaStream_t stream, cudaStreamAttrID which, cudaStreamAttrValue *value, GRADER_PLACE);
GRADER_IMPORT("cudaStreamCopyAttributes") GRADER_CHECKED cudaError_t cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from, GRADER_PLACE);
GRADER_IMPORT("cudaStreamGetPriority") GRADER_CHECKED cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority, GRADER_PLACE);
GRADER_IMPORT("cudaStreamGetFlags") GRADER_CHECKED cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned *flags, GRADER_PLACE);
GRADER_IMPORT("cudaStreamGetId") GRADER_CHECKED cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long *id, GRADER_PLACE);
GRADER_IMPORT("cudaStreamGetDevice") GRADER_CHECKED cudaError_t cudaStreamGetDevice(cudaStream_t stream, int *device, GRADER_PLACE);
GRADER_IMPORT("cudaCtxResetPersistingL2Cache") GRADER_CHECKED cudaError_t cudaCtxResetPersistingL2Cache(GRADER_PLACE);
#define cudaEventRecordDefault 0
#define cudaEventWaitDefault 0
GRADER_CHECKED inline cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream = 0, unsigned = 0, GRADER_PLACE) { return cudaEventRecord(event, stream, GRADER_HERE); }
