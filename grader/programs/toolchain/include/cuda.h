// The driver API: modules and launches have calls of their own, all else is the runtime's under another name.
#pragma once
#define __cuda_cuda_h__
#include "cuda_runtime.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
struct CUctx_st { int device; };
struct CUmod_st;
struct CUfunc_st;
typedef CUctx_st *CUcontext;
typedef CUmod_st *CUmodule;
typedef CUmod_st *CUlibrary;
typedef CUfunc_st *CUfunction;
typedef CUfunc_st *CUkernel;
typedef cudaStream_t CUstream;
typedef cudaEvent_t CUevent;
typedef cudaUUID_t CUuuid;
enum CUresult {
    CUDA_SUCCESS = 0, CUDA_ERROR_INVALID_VALUE = 1, CUDA_ERROR_OUT_OF_MEMORY = 2, CUDA_ERROR_NOT_INITIALIZED = 3,
    CUDA_ERROR_DEINITIALIZED = 4, CUDA_ERROR_PROFILER_DISABLED = 5, CUDA_ERROR_PROFILER_NOT_INITIALIZED = 6,
    CUDA_ERROR_PROFILER_ALREADY_STARTED = 7, CUDA_ERROR_PROFILER_ALREADY_STOPPED = 8, CUDA_ERROR_STUB_LIBRARY = 34,
    CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER = 36, CUDA_ERROR_DEVICE_UNAVAILABLE = 46, CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_INVALID_DEVICE = 101, CUDA_ERROR_DEVICE_NOT_LICENSED = 102, CUDA_ERROR_INVALID_IMAGE = 200,
    CUDA_ERROR_INVALID_CONTEXT = 201, CUDA_ERROR_CONTEXT_ALREADY_CURRENT = 202, CUDA_ERROR_MAP_FAILED = 205,
    CUDA_ERROR_UNMAP_FAILED = 206, CUDA_ERROR_ARRAY_IS_MAPPED = 207, CUDA_ERROR_ALREADY_MAPPED = 208,
    CUDA_ERROR_NO_BINARY_FOR_GPU = 209, CUDA_ERROR_ALREADY_ACQUIRED = 210, CUDA_ERROR_NOT_MAPPED = 211,
    CUDA_ERROR_NOT_MAPPED_AS_ARRAY = 212, CUDA_ERROR_NOT_MAPPED_AS_POINTER = 213, CUDA_ERROR_ECC_UNCORRECTABLE = 214,
    CUDA_ERROR_UNSUPPORTED_LIMIT = 215, CUDA_ERROR_CONTEXT_ALREADY_IN_USE = 216,
    CUDA_ERROR_PEER_ACCESS_UNSUPPORTED = 217, CUDA_ERROR_INVALID_PTX = 218, CUDA_ERROR_INVALID_GRAPHICS_CONTEXT = 219,
    CUDA_ERROR_NVLINK_UNCORRECTABLE = 220, CUDA_ERROR_JIT_COMPILER_NOT_FOUND = 221,
    CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222, CUDA_ERROR_JIT_COMPILATION_DISABLED = 223,
    CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY = 224, CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC = 225, CUDA_ERROR_CONTAINED = 226,
    CUDA_ERROR_INVALID_SOURCE = 300, CUDA_ERROR_FILE_NOT_FOUND = 301, CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND = 302,
    CUDA_ERROR_SHARED_OBJECT_INIT_FAILED = 303, CUDA_ERROR_OPERATING_SYSTEM = 304, CUDA_ERROR_INVALID_HANDLE = 400,
    CUDA_ERROR_ILLEGAL_STATE = 401, CUDA_ERROR_LOSSY_QUERY = 402, CUDA_ERROR_NOT_FOUND = 500,
    CUDA_ERROR_NOT_READY = 600, CUDA_ERROR_ILLEGAL_ADDRESS = 700, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
    CUDA_ERROR_LAUNCH_TIMEOUT = 702, CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING = 703,
    CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704, CUDA_ERROR_PEER_ACCESS_NOT_ENABLED = 705,
    CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE = 708, CUDA_ERROR_CONTEXT_IS_DESTROYED = 709, CUDA_ERROR_ASSERT = 710,
    CUDA_ERROR_TOO_MANY_PEERS = 711, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712,
    CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED = 713, CUDA_ERROR_HARDWARE_STACK_ERROR = 714,
    CUDA_ERROR_ILLEGAL_INSTRUCTION = 715, CUDA_ERROR_MISALIGNED_ADDRESS = 716, CUDA_ERROR_INVALID_ADDRESS_SPACE = 717,
    CUDA_ERROR_INVALID_PC = 718, CUDA_ERROR_LAUNCH_FAILED = 719, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE = 720,
    CUDA_ERROR_TENSOR_MEMORY_LEAK = 721, CUDA_ERROR_NOT_PERMITTED = 800, CUDA_ERROR_NOT_SUPPORTED = 801,
    CUDA_ERROR_SYSTEM_NOT_READY = 802, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH = 803,
    CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE = 804, CUDA_ERROR_MPS_CONNECTION_FAILED = 805,
    CUDA_ERROR_MPS_RPC_FAILURE = 806, CUDA_ERROR_MPS_SERVER_NOT_READY = 807, CUDA_ERROR_MPS_MAX_CLIENTS_REACHED = 808,
    CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED = 809, CUDA_ERROR_MPS_CLIENT_TERMINATED = 810,
    CUDA_ERROR_CDP_NOT_SUPPORTED = 811, CUDA_ERROR_CDP_VERSION_MISMATCH = 812,
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901,
    CUDA_ERROR_STREAM_CAPTURE_MERGE = 902, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED = 903,
    CUDA_ERROR_STREAM_CAPTURE_UNJOINED = 904, CUDA_ERROR_STREAM_CAPTURE_ISOLATION = 905,
    CUDA_ERROR_STREAM_CAPTURE_IMPLICIT = 906, CUDA_ERROR_CAPTURED_EVENT = 907,
    CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD = 908, CUDA_ERROR_TIMEOUT = 909,
    CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE = 910, CUDA_ERROR_EXTERNAL_DEVICE = 911,
    CUDA_ERROR_INVALID_CLUSTER_SIZE = 912, CUDA_ERROR_FUNCTION_NOT_LOADED = 913,
    CUDA_ERROR_INVALID_RESOURCE_TYPE = 914, CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION = 915,
    CUDA_ERROR_KEY_ROTATION = 916, CUDA_ERROR_UNKNOWN = 999
};
enum CUdevice_attribute {
    CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X = 2,
    CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y = 3, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z = 4,
    CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X = 5, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y = 6,
    CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z = 7, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
    CU_DEVICE_ATTRIBUTE_SHARED_MEMORY_PER_BLOCK = 8, CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY = 9,
    CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10, CU_DEVICE_ATTRIBUTE_MAX_PITCH = 11,
    CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK = 12, CU_DEVICE_ATTRIBUTE_REGISTERS_PER_BLOCK = 12,
    CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT = 14,
    CU_DEVICE_ATTRIBUTE_GPU_OVERLAP = 15, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
    CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT = 17, CU_DEVICE_ATTRIBUTE_INTEGRATED = 18,
    CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY = 19, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE = 20,
    CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH = 21, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH = 22,
    CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT = 23, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH = 24,
    CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT = 25, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH = 26,
    CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH = 27,
    CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT = 28,
    CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS = 29, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_ARRAY_WIDTH = 27,
    CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_ARRAY_HEIGHT = 28,
    CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_ARRAY_NUMSLICES = 29, CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT = 30,
    CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS = 31, CU_DEVICE_ATTRIBUTE_ECC_ENABLED = 32,
    CU_DEVICE_ATTRIBUTE_PCI_BUS_ID = 33, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID = 34, CU_DEVICE_ATTRIBUTE_TCC_DRIVER = 35,
    CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37,
    CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR = 39,
    CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT = 40, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING = 41,
    CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH = 42,
    CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS = 43, CU_DEVICE_ATTRIBUTE_CAN_TEX2D_GATHER = 44,
    CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_WIDTH = 45, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_HEIGHT = 46,
    CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE = 47,
    CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE = 48,
    CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE = 49, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID = 50,
    CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT = 51, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_WIDTH = 52,
    CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH = 53,
    CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS = 54, CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_WIDTH = 55,
    CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_WIDTH = 56, CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_HEIGHT = 57,
    CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_WIDTH = 58, CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_HEIGHT = 59,
    CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_DEPTH = 60, CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_WIDTH = 61,
    CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_LAYERS = 62,
    CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_WIDTH = 63,
    CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_HEIGHT = 64,
    CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_LAYERS = 65, CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_WIDTH = 66,
    CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH = 67,
    CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS = 68,
    CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH = 69, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH = 70,
    CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT = 71, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH = 72,
    CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH = 73,
    CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT = 74, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH = 77,
    CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED = 78, CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED = 79,
    CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED = 80, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81,
    CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR = 82, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY = 83,
    CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD = 84, CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID = 85,
    CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED = 86,
    CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO = 87, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS = 88,
    CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS = 89, CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED = 90,
    CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM = 91,
    CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS_V1 = 92, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS_V1 = 93,
    CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR_V1 = 94, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH = 95,
    CU_DEVICE_ATTRIBUTE_COOPERATIVE_MULTI_DEVICE_LAUNCH = 96,
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97, CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES = 98,
    CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED = 99,
    CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES = 100,
    CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST = 101,
    CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED = 102,
    CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 102,
    CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED = 103,
    CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_WIN32_HANDLE_SUPPORTED = 104,
    CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_WIN32_KMT_HANDLE_SUPPORTED = 105,
    CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR = 106, CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED = 107,
    CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE = 108, CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE = 109,
    CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED = 110,
    CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK = 111, CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED = 112,
    CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED = 113,
    CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED = 114, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 115,
    CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED = 116,
    CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS = 117,
    CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING = 118,
    CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES = 119, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH = 120,
    CU_DEVICE_ATTRIBUTE_DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED = 121,
    CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS = 122, CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR = 123,
    CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED = 124, CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED = 125,
    CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT = 126, CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED = 127,
    CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED = 128, CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS = 129,
    CU_DEVICE_ATTRIBUTE_NUMA_CONFIG = 130, CU_DEVICE_ATTRIBUTE_NUMA_ID = 131,
    CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED = 132, CU_DEVICE_ATTRIBUTE_MPS_ENABLED = 133,
    CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID = 134, CU_DEVICE_ATTRIBUTE_D3D12_CIG_SUPPORTED = 135,
    CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_ALGORITHM_MASK = 136, CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_MAXIMUM_LENGTH = 137,
    CU_DEVICE_ATTRIBUTE_VULKAN_CIG_SUPPORTED = 138, CU_DEVICE_ATTRIBUTE_GPU_PCI_DEVICE_ID = 139,
    CU_DEVICE_ATTRIBUTE_GPU_PCI_SUBSYSTEM_ID = 140,
    CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 141,
    CU_DEVICE_ATTRIBUTE_HOST_NUMA_MEMORY_POOLS_SUPPORTED = 142,
    CU_DEVICE_ATTRIBUTE_HOST_NUMA_MULTINODE_IPC_SUPPORTED = 143,
    CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED = 144,
    CU_DEVICE_ATTRIBUTE_HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 145,
    CU_DEVICE_ATTRIBUTE_HOST_ALLOC_DMA_BUF_SUPPORTED = 146,
    CU_DEVICE_ATTRIBUTE_ONLY_PARTIAL_HOST_NATIVE_ATOMIC_SUPPORTED = 147
};
enum CUfunction_attribute {
    CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
    CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES = 2, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3, CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
    CU_FUNC_ATTRIBUTE_PTX_VERSION = 5, CU_FUNC_ATTRIBUTE_BINARY_VERSION = 6, CU_FUNC_ATTRIBUTE_CACHE_MODE_CA = 7,
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT = 9,
    CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET = 10, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH = 11,
    CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT = 12, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH = 13,
    CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14,
    CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE = 15
};
enum CUjit_option {
    CU_JIT_MAX_REGISTERS = 0, CU_JIT_THREADS_PER_BLOCK = 1, CU_JIT_WALL_TIME = 2, CU_JIT_INFO_LOG_BUFFER = 3,
    CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 4, CU_JIT_ERROR_LOG_BUFFER = 5, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
    CU_JIT_OPTIMIZATION_LEVEL = 7, CU_JIT_TARGET_FROM_CUCONTEXT = 8, CU_JIT_TARGET = 9, CU_JIT_FALLBACK_STRATEGY = 10,
    CU_JIT_GENERATE_DEBUG_INFO = 11, CU_JIT_LOG_VERBOSE = 12, CU_JIT_GENERATE_LINE_INFO = 13, CU_JIT_CACHE_MODE = 14,
    CU_JIT_NEW_SM3X_OPT = 15, CU_JIT_FAST_COMPILE = 16, CU_JIT_GLOBAL_SYMBOL_NAMES = 17,
    CU_JIT_GLOBAL_SYMBOL_ADDRESSES = 18, CU_JIT_GLOBAL_SYMBOL_COUNT = 19, CU_JIT_LTO = 20, CU_JIT_FTZ = 21,
    CU_JIT_PREC_DIV = 22, CU_JIT_PREC_SQRT = 23, CU_JIT_FMA = 24, CU_JIT_REFERENCED_KERNEL_NAMES = 25,
    CU_JIT_REFERENCED_KERNEL_COUNT = 26, CU_JIT_REFERENCED_VARIABLE_NAMES = 27, CU_JIT_REFERENCED_VARIABLE_COUNT = 28,
    CU_JIT_OPTIMIZE_UNUSED_DEVICE_VARIABLES = 29, CU_JIT_POSITION_INDEPENDENT_CODE = 30, CU_JIT_MIN_CTA_PER_SM = 31,
    CU_JIT_MAX_THREADS_PER_BLOCK = 32, CU_JIT_OVERRIDE_DIRECTIVE_VALUES = 33, CU_JIT_SPLIT_COMPILE = 34
};
enum CUcomputemode { CU_COMPUTEMODE_DEFAULT = 0, CU_COMPUTEMODE_EXCLUSIVE = 1, CU_COMPUTEMODE_PROHIBITED = 2, CU_COMPUTEMODE_EXCLUSIVE_PROCESS = 3 };
enum CUlimit {
    CU_LIMIT_STACK_SIZE = 0, CU_LIMIT_PRINTF_FIFO_SIZE = 1, CU_LIMIT_MALLOC_HEAP_SIZE = 2, CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH = 3,
    CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT = 4, CU_LIMIT_MAX_L2_FETCH_GRANULARITY = 5, CU_LIMIT_PERSISTING_L2_CACHE_SIZE = 6
};
enum CUsharedconfig { CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE = 0, CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE = 1, CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE = 2 };
enum CUctx_flags { CU_CTX_SCHED_AUTO = 0, CU_CTX_SCHED_SPIN = 1, CU_CTX_SCHED_YIELD = 2, CU_CTX_SCHED_BLOCKING_SYNC = 4, CU_CTX_MAP_HOST = 8 };
enum CUstream_flags { CU_STREAM_DEFAULT = 0, CU_STREAM_NON_BLOCKING = 1 };
enum CUevent_flags { CU_EVENT_DEFAULT = 0, CU_EVENT_BLOCKING_SYNC = 1, CU_EVENT_DISABLE_TIMING = 2 };
enum CUmem_advise {
    CU_MEM_ADVISE_SET_READ_MOSTLY = 1, CU_MEM_ADVISE_UNSET_READ_MOSTLY = 2, CU_MEM_ADVISE_SET_PREFERRED_LOCATION = 3,
    CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION = 4, CU_MEM_ADVISE_SET_ACCESSED_BY = 5, CU_MEM_ADVISE_UNSET_ACCESSED_BY = 6
};
#define CU_STREAM_LEGACY ((CUstream)0x1)
#define CU_STREAM_PER_THREAD ((CUstream)0x2)
#define CU_DEVICE_CPU ((CUdevice)-1)
#define CU_DEVICE_INVALID ((CUdevice)-2)
enum CUmemAttach_flags { CU_MEM_ATTACH_GLOBAL = 1, CU_MEM_ATTACH_HOST = 2, CU_MEM_ATTACH_SINGLE = 4 };
enum CUoccupancy_flags { CU_OCCUPANCY_DEFAULT = 0, CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE = 1 };
enum CUfunc_cache { CU_FUNC_CACHE_PREFER_NONE = 0, CU_FUNC_CACHE_PREFER_SHARED = 1, CU_FUNC_CACHE_PREFER_L1 = 2, CU_FUNC_CACHE_PREFER_EQUAL = 3 };
typedef struct CUexecAffinityParam_st { int type; union { struct { unsigned val; } smCount; } param; } CUexecAffinityParam;
typedef struct CUctxCigParam_st { int sharedDataType; void *sharedData; } CUctxCigParam;
typedef struct CUctxCreateParams_st { CUexecAffinityParam *execAffinityParams; int numExecAffinityParams; CUctxCigParam *cigParams; } CUctxCreateParams;
typedef enum CUlibraryOption { CU_LIBRARY_HOST_UNIVERSAL_FUNCTION_AND_DATA_TABLE = 0, CU_LIBRARY_BINARY_IS_PRESERVED = 1 } CUlibraryOption;
#define CU_LAUNCH_PARAM_END ((void *)0)
#define CU_LAUNCH_PARAM_BUFFER_POINTER ((void *)1)
#define CU_LAUNCH_PARAM_BUFFER_SIZE ((void *)2)
#define CUDAAPI

#define GRADER_DRIVER(name, ...) GRADER_IMPORT(#name) GRADER_CHECKED CUresult name(__VA_ARGS__, GRADER_PLACE);
GRADER_DRIVER(cuModuleLoadData, CUmodule *module, const void *image)
GRADER_DRIVER(cuModuleUnload, CUmodule module)
GRADER_DRIVER(cuModuleGetFunction, CUfunction *function, CUmodule module, const char *name)
GRADER_DRIVER(cuModuleGetGlobal, CUdeviceptr *address, size_t *bytes, CUmodule module, const char *name)
GRADER_DRIVER(cuLaunchKernel, CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared_bytes, CUstream stream, void **parameters, void **extra)
GRADER_DRIVER(cuLaunchCooperativeKernel, CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared_bytes, CUstream stream, void **parameters)
#undef GRADER_DRIVER
// What the compiler of a module is asked for besides is of no use here: it is read as it is.
inline CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned, CUjit_option *, void **, GRADER_PLACE) { return cuModuleLoadData(module, image, GRADER_HERE); }
inline char *grader_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (!file) return nullptr;
    fseek(file, 0, SEEK_END);
    *size = ftell(file);
    rewind(file);
    char *image = (char *)malloc(*size + 1);
    image[fread(image, 1, *size, file)] = 0;
    fclose(file);
    return image;
}
inline CUresult cuModuleLoad(CUmodule *module, const char *path, GRADER_PLACE) {
    size_t size;
    char *image = grader_file(path, &size);
    if (!image) return CUDA_ERROR_FILE_NOT_FOUND;
    CUresult result = cuModuleLoadData(module, image, GRADER_HERE);
    free(image);
    return result;
}
inline CUresult cuLibraryLoadData(CUlibrary *library, const void *image, CUjit_option *, void **, unsigned, CUlibraryOption *, void **, unsigned, GRADER_PLACE) { return cuModuleLoadData(library, image, GRADER_HERE); }
inline CUresult cuLibraryUnload(CUlibrary library, GRADER_PLACE) { return cuModuleUnload(library, GRADER_HERE); }
inline CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name, GRADER_PLACE) { return cuModuleGetFunction(kernel, library, name, GRADER_HERE); }
inline CUresult cuKernelGetFunction(CUfunction *function, CUkernel kernel) { *function = kernel; return CUDA_SUCCESS; }
#define GRADER_AS(name, parameters, call) inline CUresult name parameters { return (CUresult)(call); }
#define GRADER_AT(...) (__VA_ARGS__, GRADER_PLACE)
inline CUresult cuInit(unsigned flags) { return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS; }
GRADER_AS(cuDriverGetVersion, GRADER_AT(int *version), cudaDriverGetVersion(version, GRADER_HERE))
GRADER_AS(cuDeviceGetCount, GRADER_AT(int *count), cudaGetDeviceCount(count, GRADER_HERE))
inline CUresult cuDeviceGet(CUdevice *device, int number, GRADER_PLACE) {
    int count = 0;
    if (cudaGetDeviceCount(&count, GRADER_HERE)) return CUDA_ERROR_NO_DEVICE;
    *device = number;
    return number >= 0 && number < count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
inline CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute which, CUdevice device, GRADER_PLACE) {
    // The runtime has no name for these.
    if (which == CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED) { *value = 1; return CUDA_SUCCESS; }
    if (which == CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED) {
        CUresult result = (CUresult)cudaDeviceGetAttribute(value, cudaDevAttrComputeCapabilityMajor, device, GRADER_HERE);
        *value = *value >= 8;
        return result;
    }
    return (CUresult)cudaDeviceGetAttribute(value, (cudaDeviceAttr)which, device, GRADER_HERE);
}
inline CUresult cuDeviceGetName(char *name, int length, CUdevice device, GRADER_PLACE) {
    cudaDeviceProp properties;
    cudaError_t error = cudaGetDeviceProperties(&properties, device, GRADER_HERE);
    if (!error && length > 0) snprintf(name, length, "%s", properties.name);
    return (CUresult)error;
}
inline CUresult cuDeviceTotalMem(size_t *bytes, CUdevice device, GRADER_PLACE) {
    cudaDeviceProp properties;
    cudaError_t error = cudaGetDeviceProperties(&properties, device, GRADER_HERE);
    if (!error) *bytes = properties.totalGlobalMem;
    return (CUresult)error;
}
inline CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice device, GRADER_PLACE) {
    CUresult result = cuDeviceGetAttribute(major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device, GRADER_HERE);
    return result ? result : cuDeviceGetAttribute(minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device, GRADER_HERE);
}
// There is one context, that of the runtime.
inline CUctx_st grader_context = {0};
inline CUcontext grader_current_context = nullptr;
inline CUresult cuCtxCreate(CUcontext *context, unsigned, CUdevice device) {
    if (device) return CUDA_ERROR_INVALID_DEVICE;
    *context = grader_current_context = &grader_context;
    return CUDA_SUCCESS;
}
inline CUresult cuCtxCreate(CUcontext *context, CUctxCreateParams *, unsigned flags, CUdevice device) { return cuCtxCreate(context, flags, device); }
inline CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
    if (device) return CUDA_ERROR_INVALID_DEVICE;
    *context = &grader_context;
    return CUDA_SUCCESS;
}
inline CUresult cuDevicePrimaryCtxRelease(CUdevice device) { return device ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS; }
inline CUresult cuCtxDestroy(CUcontext context) { if (context != &grader_context) return CUDA_ERROR_INVALID_CONTEXT; grader_current_context = nullptr; return CUDA_SUCCESS; }
inline CUresult cuCtxSetCurrent(CUcontext context) { grader_current_context = context; return CUDA_SUCCESS; }
inline CUresult cuCtxGetCurrent(CUcontext *context) { *context = grader_current_context; return CUDA_SUCCESS; }
inline CUresult cuCtxPushCurrent(CUcontext context) { return cuCtxSetCurrent(context); }
inline CUresult cuCtxPopCurrent(CUcontext *context) { *context = grader_current_context; return CUDA_SUCCESS; }
inline CUresult cuCtxGetDevice(CUdevice *device) { *device = 0; return CUDA_SUCCESS; }
GRADER_AS(cuCtxSynchronize, (GRADER_PLACE), cudaDeviceSynchronize(GRADER_HERE))
GRADER_AS(cuMemGetInfo, GRADER_AT(size_t *left, size_t *total), cudaMemGetInfo(left, total, GRADER_HERE))
GRADER_AS(cuMemAlloc, GRADER_AT(CUdeviceptr *p, size_t n), cudaMalloc((void **)p, n, GRADER_HERE))
GRADER_AS(cuMemAllocManaged, GRADER_AT(CUdeviceptr *p, size_t n, unsigned flags), cudaMallocManaged((void **)p, n, flags, GRADER_HERE))
GRADER_AS(cuMemFree, GRADER_AT(CUdeviceptr p), cudaFree((void *)p, GRADER_HERE))
GRADER_AS(cuMemAllocHost, GRADER_AT(void **p, size_t n), cudaMallocHost(p, n, 0u, GRADER_HERE))
GRADER_AS(cuMemHostAlloc, GRADER_AT(void **p, size_t n, unsigned flags), cudaHostAlloc(p, n, flags, GRADER_HERE))
GRADER_AS(cuMemFreeHost, GRADER_AT(void *p), cudaFreeHost(p, GRADER_HERE))
GRADER_AS(cuMemcpyHtoD, GRADER_AT(CUdeviceptr to, const void *from, size_t n), cudaMemcpy((void *)to, from, n, cudaMemcpyHostToDevice, GRADER_HERE))
GRADER_AS(cuMemcpyDtoH, GRADER_AT(void *to, CUdeviceptr from, size_t n), cudaMemcpy(to, (const void *)from, n, cudaMemcpyDeviceToHost, GRADER_HERE))
GRADER_AS(cuMemcpyDtoD, GRADER_AT(CUdeviceptr to, CUdeviceptr from, size_t n), cudaMemcpy((void *)to, (const void *)from, n, cudaMemcpyDeviceToDevice, GRADER_HERE))
GRADER_AS(cuMemcpy, GRADER_AT(CUdeviceptr to, CUdeviceptr from, size_t n), cudaMemcpy((void *)to, (const void *)from, n, cudaMemcpyDefault, GRADER_HERE))
GRADER_AS(cuMemcpyAsync, GRADER_AT(CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s), cudaMemcpyAsync((void *)to, (const void *)from, n, cudaMemcpyDefault, s, GRADER_HERE))
GRADER_AS(cuMemAdvise, GRADER_AT(CUdeviceptr p, size_t n, CUmem_advise advice, CUdevice device), cudaMemAdvise((const void *)p, n, (cudaMemoryAdvise)advice, device, GRADER_HERE))
GRADER_AS(cuMemPrefetchAsync, GRADER_AT(CUdeviceptr p, size_t n, CUdevice device, CUstream s), cudaMemPrefetchAsync((const void *)p, n, device, s, GRADER_HERE))
GRADER_AS(cuMemcpyHtoDAsync, GRADER_AT(CUdeviceptr to, const void *from, size_t n, CUstream s), cudaMemcpyAsync((void *)to, from, n, cudaMemcpyHostToDevice, s, GRADER_HERE))
GRADER_AS(cuMemcpyDtoHAsync, GRADER_AT(void *to, CUdeviceptr from, size_t n, CUstream s), cudaMemcpyAsync(to, (const void *)from, n, cudaMemcpyDeviceToHost, s, GRADER_HERE))
GRADER_AS(cuMemcpyDtoDAsync, GRADER_AT(CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s), cudaMemcpyAsync((void *)to, (const void *)from, n, cudaMemcpyDeviceToDevice, s, GRADER_HERE))
GRADER_IMPORT("cuMemsetD2D32Async") cudaError_t grader_memset(void *pointer, size_t pitch, unsigned value, unsigned unit, size_t width, size_t height, cudaStream_t stream, GRADER_PLACE);
#define GRADER_SETS(unit, number) \
    GRADER_AS(cuMemsetD##unit##Async, GRADER_AT(CUdeviceptr p, number value, size_t n, CUstream s), grader_memset((void *)p, 0, value, unit / 8, n, 1, s, GRADER_HERE)) \
    GRADER_AS(cuMemsetD##unit, GRADER_AT(CUdeviceptr p, number value, size_t n), grader_memset((void *)p, 0, value, unit / 8, n, 1, 0, GRADER_HERE)) \
    GRADER_AS(cuMemsetD2D##unit##Async, GRADER_AT(CUdeviceptr p, size_t pitch, number value, size_t n, size_t rows, CUstream s), grader_memset((void *)p, pitch, value, unit / 8, n, rows, s, GRADER_HERE)) \
    GRADER_AS(cuMemsetD2D##unit, GRADER_AT(CUdeviceptr p, size_t pitch, number value, size_t n, size_t rows), grader_memset((void *)p, pitch, value, unit / 8, n, rows, 0, GRADER_HERE))
GRADER_SETS(8, unsigned char)
GRADER_SETS(16, unsigned short)
GRADER_SETS(32, unsigned)
GRADER_AS(cuCtxSetLimit, GRADER_AT(CUlimit limit, size_t value), cudaDeviceSetLimit((cudaLimit)limit, value, GRADER_HERE))
GRADER_AS(cuCtxGetLimit, GRADER_AT(size_t *value, CUlimit limit), cudaDeviceGetLimit(value, (cudaLimit)limit, GRADER_HERE))
GRADER_AS(cuCtxSetSharedMemConfig, GRADER_AT(CUsharedconfig config), cudaDeviceSetSharedMemConfig((cudaSharedMemConfig)config, GRADER_HERE))
GRADER_AS(cuCtxSetCacheConfig, GRADER_AT(CUfunc_cache config), cudaDeviceSetCacheConfig((cudaFuncCache)config, GRADER_HERE))
GRADER_AS(cuStreamCreate, GRADER_AT(CUstream *s, unsigned flags), cudaStreamCreateWithFlags(s, flags, GRADER_HERE))
GRADER_AS(cuStreamDestroy, GRADER_AT(CUstream s), cudaStreamDestroy(s, GRADER_HERE))
GRADER_AS(cuStreamSynchronize, GRADER_AT(CUstream s), cudaStreamSynchronize(s, GRADER_HERE))
GRADER_AS(cuStreamQuery, GRADER_AT(CUstream s), cudaStreamQuery(s, GRADER_HERE))
GRADER_AS(cuStreamWaitEvent, GRADER_AT(CUstream s, CUevent e, unsigned flags), cudaStreamWaitEvent(s, e, flags, GRADER_HERE))
GRADER_AS(cuEventCreate, GRADER_AT(CUevent *e, unsigned flags), cudaEventCreateWithFlags(e, flags, GRADER_HERE))
GRADER_AS(cuEventRecord, GRADER_AT(CUevent e, CUstream s), cudaEventRecord(e, s, GRADER_HERE))
GRADER_AS(cuEventSynchronize, GRADER_AT(CUevent e), cudaEventSynchronize(e, GRADER_HERE))
GRADER_AS(cuEventQuery, GRADER_AT(CUevent e), cudaEventQuery(e, GRADER_HERE))
GRADER_AS(cuEventElapsedTime, GRADER_AT(float *ms, CUevent a, CUevent b), cudaEventElapsedTime(ms, a, b, GRADER_HERE))
GRADER_AS(cuEventDestroy, GRADER_AT(CUevent e), cudaEventDestroy(e, GRADER_HERE))
GRADER_AS(cuFuncSetAttribute, GRADER_AT(CUfunction f, CUfunction_attribute which, int value), grader_cudaFuncSetAttribute((const void *)f, (cudaFuncAttribute)which, value, GRADER_HERE))
GRADER_AS(cuFuncSetCacheConfig, GRADER_AT(CUfunction f, CUfunc_cache config), grader_cudaFuncSetCacheConfig((const void *)f, (cudaFuncCache)config, GRADER_HERE))
inline CUresult cuFuncGetAttribute(int *value, CUfunction_attribute which, CUfunction f, GRADER_PLACE) {
    cudaFuncAttributes all;
    cudaError_t error = grader_cudaFuncGetAttributes(&all, (const void *)f, GRADER_HERE);
    if (error) return (CUresult)error;
    switch (which) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = all.maxThreadsPerBlock; break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = (int)all.sharedSizeBytes; break;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: *value = (int)all.constSizeBytes; break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = (int)all.localSizeBytes; break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = all.numRegs; break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION: *value = all.ptxVersion; break;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = all.binaryVersion; break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}
GRADER_AS(cuOccupancyMaxActiveBlocksPerMultiprocessor, GRADER_AT(int *blocks, CUfunction f, int threads, size_t shared_bytes), grader_cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, (const void *)f, threads, shared_bytes, GRADER_HERE))
GRADER_AS(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, GRADER_AT(int *blocks, CUfunction f, int threads, size_t shared_bytes, unsigned), grader_cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, (const void *)f, threads, shared_bytes, GRADER_HERE))
inline CUresult cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction f, size_t (*)(int), size_t shared_bytes, int limit, GRADER_PLACE) {
    return (CUresult)grader_cudaOccupancyMaxPotentialBlockSize(grid, block, (const void *)f, shared_bytes, limit, GRADER_HERE);
}
GRADER_AS(cuDeviceCanAccessPeer, GRADER_AT(int *can, CUdevice device, CUdevice peer), cudaDeviceCanAccessPeer(can, device, peer, GRADER_HERE))
typedef enum CUdevice_P2PAttribute_enum {
    CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK = 1, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED
} CUdevice_P2PAttribute;
typedef void (*CUhostFn)(void *);
GRADER_AS(cuDeviceGetP2PAttribute, GRADER_AT(int *value, CUdevice_P2PAttribute which, CUdevice device, CUdevice peer), cudaDeviceGetP2PAttribute(value, (cudaDeviceP2PAttr)which, device, peer, GRADER_HERE))
GRADER_AS(cuCtxEnablePeerAccess, GRADER_AT(CUcontext peer, unsigned flags), cudaDeviceEnablePeerAccess(peer == &grader_context ? 0 : -1, flags, GRADER_HERE))
GRADER_AS(cuCtxDisablePeerAccess, GRADER_AT(CUcontext peer), cudaDeviceDisablePeerAccess(peer == &grader_context ? 0 : -1, GRADER_HERE))
GRADER_AS(cuMemHostRegister, GRADER_AT(void *p, size_t n, unsigned flags), cudaHostRegister(p, n, flags, GRADER_HERE))
GRADER_AS(cuMemHostUnregister, GRADER_AT(void *p), cudaHostUnregister(p, GRADER_HERE))
GRADER_AS(cuMemHostGetDevicePointer, GRADER_AT(CUdeviceptr *device, void *host, unsigned flags), cudaHostGetDevicePointer((void **)device, host, flags, GRADER_HERE))
GRADER_AS(cuMemAllocAsync, GRADER_AT(CUdeviceptr *p, size_t n, CUstream s), cudaMallocAsync((void **)p, n, s, GRADER_HERE))
GRADER_AS(cuMemFreeAsync, GRADER_AT(CUdeviceptr p, CUstream s), cudaFreeAsync((void *)p, s, GRADER_HERE))
GRADER_AS(cuMemAllocPitch, GRADER_AT(CUdeviceptr *p, size_t *pitch, size_t width, size_t height, unsigned), cudaMallocPitch((void **)p, pitch, width, height, GRADER_HERE))
GRADER_AS(cuLaunchHostFunc, GRADER_AT(CUstream s, CUhostFn f, void *data), cudaLaunchHostFunc(s, f, data, GRADER_HERE))
GRADER_AS(cuProfilerStart, (GRADER_PLACE), cudaProfilerStart(GRADER_HERE))
GRADER_AS(cuProfilerStop, (GRADER_PLACE), cudaProfilerStop(GRADER_HERE))
inline CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device, GRADER_PLACE) {
    cudaDeviceProp all;
    cudaError_t error = cudaGetDeviceProperties(&all, device, GRADER_HERE);
    if (!error) *uuid = all.uuid;
    return (CUresult)error;
}
inline CUresult cuCtxGetApiVersion(CUcontext, unsigned *version) { *version = 3020; return CUDA_SUCCESS; }
#undef GRADER_AS
#undef GRADER_AT
inline CUresult cuGetErrorName(CUresult result, const char **name) {
    switch (result) {
    case CUDA_SUCCESS: *name = "CUDA_SUCCESS"; return CUDA_SUCCESS;
    case CUDA_ERROR_INVALID_VALUE: *name = "CUDA_ERROR_INVALID_VALUE"; return CUDA_SUCCESS;
    case CUDA_ERROR_OUT_OF_MEMORY: *name = "CUDA_ERROR_OUT_OF_MEMORY"; return CUDA_SUCCESS;
    case CUDA_ERROR_NOT_INITIALIZED: *name = "CUDA_ERROR_NOT_INITIALIZED"; return CUDA_SUCCESS;
    case CUDA_ERROR_DEINITIALIZED: *name = "CUDA_ERROR_DEINITIALIZED"; return CUDA_SUCCESS;
    case CUDA_ERROR_PROFILER_DISABLED: *name = "CUDA_ERROR_PROFILER_DISABLED"; return CUDA_SUCCESS;
    case CUDA_ERROR_PROFILER_NOT_INITIALIZED: *name = "CUDA_ERROR_PROFILER_NOT_INITIALIZED"; return CUDA_SUCCESS;
    case CUDA_ERROR_PROFILER_ALREADY_STARTED: *name = "CUDA_ERROR_PROFILER_ALREADY_STARTED"; return CUDA_SUCCESS;
    case CUDA_ERROR_PROFILER_ALREADY_STOPPED: *name = "CUDA_ERROR_PROFILER_ALREADY_STOPPED"; return CUDA_SUCCESS;
    case CUDA_ERROR_STUB_LIBRARY: *name = "CUDA_ERROR_STUB_LIBRARY"; return CUDA_SUCCESS;
    case CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER: *name = "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER"; return CUDA_SUCCESS;
    case CUDA_ERROR_DEVICE_UNAVAILABLE: *name = "CUDA_ERROR_DEVICE_UNAVAILABLE"; return CUDA_SUCCESS;
    case CUDA_ERROR_NO_DEVICE: *name = "CUDA_ERROR_NO_DEVICE"; return CUDA_SUCCESS;
    case CUDA_ERROR_INVALID_DEVICE: *name = "CUDA_ERROR_INVALID_DEVICE"; return CUDA_SUCCESS;
    case CUDA_ERROR_DEVICE_NOT_LICENSED: *name = "CUDA_ERROR_DEVICE_NOT_LICENSED"; return CUDA_SUCCESS;
    case CUDA_ERROR_INVALID_IMAGE: *name = "CUDA_ERROR_INVALID_IMAGE"; return CUDA_SUCCESS;
    case CUDA_ERROR_INVALID_CONTEXT: *name = "CUDA_ERROR_INVALID_CONTEXT"; return CUDA_SUCCESS;
    case CUDA_ERROR_CONTEXT_ALREADY_CURRENT: *name = "CUDA_ERROR_CONTEXT_ALREADY_CURRENT"; return CUDA_SUCCESS;
    case CUDA_ERROR_MAP_FAILED: *name = "CUDA_ERROR_MAP_FAILED"; return CUDA_SUCCESS;
    case CUDA_ERROR_UNMAP_FAILED: *name = "CUDA_ERROR_UNMAP_FAILED"; return CUDA_SUCCESS;
    case CUDA_ERROR_ARRAY_IS_MAPPED: *name = "CUDA_ERROR_ARRAY_IS_MAPPED"; return CUDA_SUCCESS;
    case CUDA_ERROR_ALREADY_MAPPED: *name = "CUDA_ERROR_ALREADY_MAPPED"; return CUDA_SUCCESS;
    case CUDA_ERROR_NO_BINARY_FOR_GPU: *name = "CUDA_ERROR_NO_BINARY_FOR_GPU"; return CUDA_SUCCESS;
    case CUDA_ERROR_ALREADY_ACQUIRED: *name = "CUDA_ERROR_ALREADY_ACQUIRED"; return CUDA_SUCCESS;
    case CUDA_ERROR_NOT_MAPPED: *name = "CUDA_ERROR_NOT_MAPPED"; return CUDA_SUCCESS;
    case CUDA_ERROR_NOT_MAPPED_AS_ARRAY: *name = "CUDA_ERROR_NOT_MAPPED_AS_ARRAY"; return CUDA_SUCCESS;
    case CUDA_ERROR_NOT_MAPPED_AS_POINTER: *name = "CUDA_ERROR_NOT_MAPPED_AS_POINTER"; return CUDA_SUCCESS;
    case CUDA_ERROR_ECC_UNCORRECTABLE: *name = "CUDA_ERROR_ECC_UNCORRECTABLE"; return CUDA_SUCCESS;
    case CUDA_ERROR_UNSUPPORTED_LIMIT: *name = "CUDA_ERROR_UNSUPPORTED_LIMIT"; return CUDA_SUCCESS;
    case CUDA_ERROR_CONTEXT_ALREADY_IN_USE: *name = "CUDA_ERROR_CONTEXT_ALREADY_IN_USE"; return CUDA_SUCCESS;
    case CUDA_ERROR_PEER_ACCESS_UNSUPPORTED: *name = "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED"; return CUDA_SUCCESS;
    case CUDA_ERROR_INVALID_PTX: *name = "CUDA_ERROR_INVALID_PTX"; return CUDA_SUCCESS;
    case CUDA_ERROR_INVALID_GRAPHICS_CONTEXT: *name = "CUDA_ERROR_INVALID_GRAPHICS_CONTEXT"; return CUDA_SUCCESS;
    case CUDA_ERROR_NVLINK_UNCORRECTABLE: *name = "CUDA_ERROR_NVLINK_UNCORRECTABLE"; return CUDA_SUCCESS;
    case CUDA_ERROR_JIT_COMPILER_NOT_FOUND: *name = "CUDA_ERROR_JIT_COMPILER_NOT_FOUND"; return CUDA_SUCCESS;
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION: *name = "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"; return CUDA_SUCCESS;
    case CUDA_ERROR_JIT_COMPILATION_DISABLED: *name = "CUDA_ERROR_JIT_COMPILATION_DISABLED"; return CUDA_SUCCESS;
    case CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY: *name = "CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY"; return CUDA_SUCCESS;
    case CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC: *name = "CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC"; return CUDA_SUCCESS;
    case CUDA_ERROR_CONTAINED: *name = "CUDA_ERROR_CONTAINED"; return CUDA_SUCCESS;
    case CUDA_ERROR_INVALID_SOURCE: *name = "CUDA_ERROR_INVALID_SOURCE"; return CUDA_SUCCESS;
    case CUDA_ERROR_FILE_NOT_FOUND: *name = "CUDA_ERROR_FILE_NOT_FOUND"; return CUDA_SUCCESS;
    case CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND: *name = "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND"; return CUDA_SUCCESS;
    case CUDA_ERROR_SHARED_OBJECT_INIT_FAILED: *name = "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED"; return CUDA_SUCCESS;
    case CUDA_ERROR_OPERATING_SYSTEM: *name = "CUDA_ERROR_OPERATING_SYSTEM"; return CUDA_SUCCESS;
    case CUDA_ERROR_INVALID_HANDLE: *name = "CUDA_ERROR_INVALID_HANDLE"; return CUDA_SUCCESS;
    case CUDA_ERROR_ILLEGAL_STATE: *name = "CUDA_ERROR_ILLEGAL_STATE"; return CUDA_SUCCESS;
    case CUDA_ERROR_LOSSY_QUERY: *name = "CUDA_ERROR_LOSSY_QUERY"; return CUDA_SUCCESS;
    case CUDA_ERROR_NOT_FOUND: *name = "CUDA_ERROR_NOT_FOUND"; return CUDA_SUCCESS;
    case CUDA_ERROR_NOT_READY: *name = "CUDA_ERROR_NOT_READY"; return CUDA_SUCCESS;
    case CUDA_ERROR_ILLEGAL_ADDRESS: *name = "CUDA_ERROR_ILLEGAL_ADDRESS"; return CUDA_SUCCESS;
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: *name = "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"; return CUDA_SUCCESS;
    case CUDA_ERROR_LAUNCH_TIMEOUT: *name = "CUDA_ERROR_LAUNCH_TIMEOUT"; return CUDA_SUCCESS;
    case CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING: *name = "CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING"; return CUDA_SUCCESS;
    case CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED: *name = "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED"; return CUDA_SUCCESS;
    case CUDA_ERROR_PEER_ACCESS_NOT_ENABLED: *name = "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED"; return CUDA_SUCCESS;
    case CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE: *name = "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE"; return CUDA_SUCCESS;
    case CUDA_ERROR_CONTEXT_IS_DESTROYED: *name = "CUDA_ERROR_CONTEXT_IS_DESTROYED"; return CUDA_SUCCESS;
    case CUDA_ERROR_ASSERT: *name = "CUDA_ERROR_ASSERT"; return CUDA_SUCCESS;
    case CUDA_ERROR_TOO_MANY_PEERS: *name = "CUDA_ERROR_TOO_MANY_PEERS"; return CUDA_SUCCESS;
    case CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED: *name = "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED"; return CUDA_SUCCESS;
    case CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED: *name = "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED"; return CUDA_SUCCESS;
    case CUDA_ERROR_HARDWARE_STACK_ERROR: *name = "CUDA_ERROR_HARDWARE_STACK_ERROR"; return CUDA_SUCCESS;
    case CUDA_ERROR_ILLEGAL_INSTRUCTION: *name = "CUDA_ERROR_ILLEGAL_INSTRUCTION"; return CUDA_SUCCESS;
    case CUDA_ERROR_MISALIGNED_ADDRESS: *name = "CUDA_ERROR_MISALIGNED_ADDRESS"; return CUDA_SUCCESS;
    case CUDA_ERROR_INVALID_ADDRESS_SPACE: *name = "CUDA_ERROR_INVALID_ADDRESS_SPACE"; return CUDA_SUCCESS;
    case CUDA_ERROR_INVALID_PC: *name = "CUDA_ERROR_INVALID_PC"; return CUDA_SUCCESS;
    case CUDA_ERROR_LAUNCH_FAILED: *name = "CUDA_ERROR_LAUNCH_FAILED"; return CUDA_SUCCESS;
    case CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE: *name = "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"; return CUDA_SUCCESS;
    case CUDA_ERROR_TENSOR_MEMORY_LEAK: *name = "CUDA_ERROR_TENSOR_MEMORY_LEAK"; return CUDA_SUCCESS;
    case CUDA_ERROR_NOT_PERMITTED: *name = "CUDA_ERROR_NOT_PERMITTED"; return CUDA_SUCCESS;
    case CUDA_ERROR_NOT_SUPPORTED: *name = "CUDA_ERROR_NOT_SUPPORTED"; return CUDA_SUCCESS;
    case CUDA_ERROR_SYSTEM_NOT_READY: *name = "CUDA_ERROR_SYSTEM_NOT_READY"; return CUDA_SUCCESS;
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH: *name = "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"; return CUDA_SUCCESS;
    case CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE: *name = "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE"; return CUDA_SUCCESS;
    case CUDA_ERROR_MPS_CONNECTION_FAILED: *name = "CUDA_ERROR_MPS_CONNECTION_FAILED"; return CUDA_SUCCESS;
    case CUDA_ERROR_MPS_RPC_FAILURE: *name = "CUDA_ERROR_MPS_RPC_FAILURE"; return CUDA_SUCCESS;
    case CUDA_ERROR_MPS_SERVER_NOT_READY: *name = "CUDA_ERROR_MPS_SERVER_NOT_READY"; return CUDA_SUCCESS;
    case CUDA_ERROR_MPS_MAX_CLIENTS_REACHED: *name = "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED"; return CUDA_SUCCESS;
    case CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED: *name = "CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED"; return CUDA_SUCCESS;
    case CUDA_ERROR_MPS_CLIENT_TERMINATED: *name = "CUDA_ERROR_MPS_CLIENT_TERMINATED"; return CUDA_SUCCESS;
    case CUDA_ERROR_CDP_NOT_SUPPORTED: *name = "CUDA_ERROR_CDP_NOT_SUPPORTED"; return CUDA_SUCCESS;
    case CUDA_ERROR_CDP_VERSION_MISMATCH: *name = "CUDA_ERROR_CDP_VERSION_MISMATCH"; return CUDA_SUCCESS;
    case CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED: *name = "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"; return CUDA_SUCCESS;
    case CUDA_ERROR_STREAM_CAPTURE_INVALIDATED: *name = "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"; return CUDA_SUCCESS;
    case CUDA_ERROR_STREAM_CAPTURE_MERGE: *name = "CUDA_ERROR_STREAM_CAPTURE_MERGE"; return CUDA_SUCCESS;
    case CUDA_ERROR_STREAM_CAPTURE_UNMATCHED: *name = "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED"; return CUDA_SUCCESS;
    case CUDA_ERROR_STREAM_CAPTURE_UNJOINED: *name = "CUDA_ERROR_STREAM_CAPTURE_UNJOINED"; return CUDA_SUCCESS;
    case CUDA_ERROR_STREAM_CAPTURE_ISOLATION: *name = "CUDA_ERROR_STREAM_CAPTURE_ISOLATION"; return CUDA_SUCCESS;
    case CUDA_ERROR_STREAM_CAPTURE_IMPLICIT: *name = "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT"; return CUDA_SUCCESS;
    case CUDA_ERROR_CAPTURED_EVENT: *name = "CUDA_ERROR_CAPTURED_EVENT"; return CUDA_SUCCESS;
    case CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD: *name = "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD"; return CUDA_SUCCESS;
    case CUDA_ERROR_TIMEOUT: *name = "CUDA_ERROR_TIMEOUT"; return CUDA_SUCCESS;
    case CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE: *name = "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE"; return CUDA_SUCCESS;
    case CUDA_ERROR_EXTERNAL_DEVICE: *name = "CUDA_ERROR_EXTERNAL_DEVICE"; return CUDA_SUCCESS;
    case CUDA_ERROR_INVALID_CLUSTER_SIZE: *name = "CUDA_ERROR_INVALID_CLUSTER_SIZE"; return CUDA_SUCCESS;
    case CUDA_ERROR_FUNCTION_NOT_LOADED: *name = "CUDA_ERROR_FUNCTION_NOT_LOADED"; return CUDA_SUCCESS;
    case CUDA_ERROR_INVALID_RESOURCE_TYPE: *name = "CUDA_ERROR_INVALID_RESOURCE_TYPE"; return CUDA_SUCCESS;
    case CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION: *name = "CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION"; return CUDA_SUCCESS;
    case CUDA_ERROR_KEY_ROTATION: *name = "CUDA_ERROR_KEY_ROTATION"; return CUDA_SUCCESS;
    case CUDA_ERROR_UNKNOWN: *name = "CUDA_ERROR_UNKNOWN"; return CUDA_SUCCESS;
    }
    *name = nullptr;
    return CUDA_ERROR_INVALID_VALUE;
}
inline CUresult cuGetErrorString(CUresult result, const char **text) { *text = cudaGetErrorString((cudaError_t)result); return CUDA_SUCCESS; }
#define GRADER_ALSO(name) template <class... P> inline auto name##_v2(P... p) { return name(p...); }
GRADER_ALSO(cuMemAlloc) GRADER_ALSO(cuMemFree) GRADER_ALSO(cuMemcpyHtoD) GRADER_ALSO(cuMemcpyDtoH) GRADER_ALSO(cuCtxCreate) GRADER_ALSO(cuCtxDestroy) GRADER_ALSO(cuDeviceGetUuid)
#undef GRADER_ALSO
#include "grader_linking.h"
#include "grader_virtual_memory.h"
