// cuFFT: plans and their execution, every call with its place to be told of.
#pragma once
#define _CUFFT_H_
#include "cuda_runtime.h"
#include "cuComplex.h"
#include "library_types.h"
#define CUFFT_VERSION 12000
#define CUFFT_FORWARD -1
#define CUFFT_INVERSE 1
#define MAX_CUFFT_ERROR 0x11
enum cufftResult_t {
    CUFFT_SUCCESS = 0, CUFFT_INVALID_PLAN = 1, CUFFT_ALLOC_FAILED = 2, CUFFT_INVALID_TYPE = 3, CUFFT_INVALID_VALUE = 4,
    CUFFT_INTERNAL_ERROR = 5, CUFFT_EXEC_FAILED = 6, CUFFT_SETUP_FAILED = 7, CUFFT_INVALID_SIZE = 8,
    CUFFT_UNALIGNED_DATA = 9, CUFFT_INVALID_DEVICE = 11, CUFFT_NO_WORKSPACE = 13, CUFFT_NOT_IMPLEMENTED = 14,
    CUFFT_NOT_SUPPORTED = 16, CUFFT_MISSING_DEPENDENCY = 17, CUFFT_NVRTC_FAILURE = 18, CUFFT_NVJITLINK_FAILURE = 19,
    CUFFT_NVSHMEM_FAILURE = 20
};
typedef cufftResult_t cufftResult;
enum cufftType_t { CUFFT_R2C = 0x2a, CUFFT_C2R = 0x2c, CUFFT_C2C = 0x29, CUFFT_D2Z = 0x6a, CUFFT_Z2D = 0x6c, CUFFT_Z2Z = 0x69 };
typedef cufftType_t cufftType;
typedef int cufftHandle;
typedef float cufftReal;
typedef double cufftDoubleReal;
typedef cuComplex cufftComplex;
typedef cuDoubleComplex cufftDoubleComplex;
#define GRADER_FFT(name, ...) GRADER_IMPORT(#name) cufftResult name(__VA_ARGS__, GRADER_PLACE);
#define GRADER_LAYOUT int rank, int *n, int *inembed, int istride, int idist, int *onembed, int ostride, int odist, cufftType type, int batch
GRADER_FFT(cufftPlan1d, cufftHandle *plan, int nx, cufftType type, int batch)
GRADER_FFT(cufftPlan2d, cufftHandle *plan, int nx, int ny, cufftType type)
GRADER_FFT(cufftPlan3d, cufftHandle *plan, int nx, int ny, int nz, cufftType type)
GRADER_FFT(cufftPlanMany, cufftHandle *plan, GRADER_LAYOUT)
GRADER_FFT(cufftCreate, cufftHandle *plan)
GRADER_FFT(cufftMakePlan1d, cufftHandle plan, int nx, cufftType type, int batch, size_t *bytes)
GRADER_FFT(cufftMakePlan2d, cufftHandle plan, int nx, int ny, cufftType type, size_t *bytes)
GRADER_FFT(cufftMakePlan3d, cufftHandle plan, int nx, int ny, int nz, cufftType type, size_t *bytes)
GRADER_FFT(cufftMakePlanMany, cufftHandle plan, GRADER_LAYOUT, size_t *bytes)
GRADER_FFT(cufftGetSize, cufftHandle plan, size_t *bytes)
GRADER_FFT(cufftSetStream, cufftHandle plan, cudaStream_t stream)
GRADER_FFT(cufftSetWorkArea, cufftHandle plan, void *area)
GRADER_FFT(cufftSetAutoAllocation, cufftHandle plan, int is_automatic)
GRADER_FFT(cufftExecC2C, cufftHandle plan, cufftComplex *in, cufftComplex *out, int direction)
GRADER_FFT(cufftExecR2C, cufftHandle plan, cufftReal *in, cufftComplex *out)
GRADER_FFT(cufftExecC2R, cufftHandle plan, cufftComplex *in, cufftReal *out)
GRADER_FFT(cufftExecZ2Z, cufftHandle plan, cufftDoubleComplex *in, cufftDoubleComplex *out, int direction)
GRADER_FFT(cufftExecD2Z, cufftHandle plan, cufftDoubleReal *in, cufftDoubleComplex *out)
GRADER_FFT(cufftExecZ2D, cufftHandle plan, cufftDoubleComplex *in, cufftDoubleReal *out)
GRADER_FFT(cufftDestroy, cufftHandle plan)
GRADER_FFT(cufftGetVersion, int *version)
#undef GRADER_LAYOUT
#undef GRADER_FFT
