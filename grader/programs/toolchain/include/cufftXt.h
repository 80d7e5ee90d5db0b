// cuFFT by types of data, on one device: plans and their execution; transforms over several devices return an error.
#pragma once
#include "cufft.h"
#include <map>
enum cufftXtSubFormat_t {
    CUFFT_XT_FORMAT_INPUT = 0, CUFFT_XT_FORMAT_OUTPUT = 1, CUFFT_XT_FORMAT_INPLACE = 2, CUFFT_XT_FORMAT_INPLACE_SHUFFLED = 3,
    CUFFT_XT_FORMAT_1D_INPUT_SHUFFLED = 4, CUFFT_FORMAT_UNDEFINED = 9
};
typedef cufftXtSubFormat_t cufftXtSubFormat;
enum cufftXtCopyType_t { CUFFT_COPY_HOST_TO_DEVICE = 0, CUFFT_COPY_DEVICE_TO_HOST = 1, CUFFT_COPY_DEVICE_TO_DEVICE = 2, CUFFT_COPY_UNDEFINED = 3 };
typedef cufftXtCopyType_t cufftXtCopyType;
struct cudaXtDesc { int version, nGPUs, GPUs[64]; void *data[64]; size_t size[64]; void *cudaXtState; };
struct cudaLibXtDesc { int version; cudaXtDesc *descriptor; int library, subFormat; void *libDescriptor; };
inline std::map<cufftHandle, cufftType> &grader_fft_types() { static std::map<cufftHandle, cufftType> types; return types; }
inline int grader_fft_type(cudaDataType in, cudaDataType out) {
    return in == CUDA_C_32F && out == CUDA_C_32F ? CUFFT_C2C : in == CUDA_R_32F && out == CUDA_C_32F ? CUFFT_R2C
         : in == CUDA_C_32F && out == CUDA_R_32F ? CUFFT_C2R : in == CUDA_C_64F && out == CUDA_C_64F ? CUFFT_Z2Z
         : in == CUDA_R_64F && out == CUDA_C_64F ? CUFFT_D2Z : in == CUDA_C_64F && out == CUDA_R_64F ? CUFFT_Z2D : 0;
}
inline cufftResult cufftXtMakePlanMany(cufftHandle plan, int rank, long long *n, long long *inembed, long long istride, long long idist, cudaDataType in, long long *onembed, long long ostride, long long odist, cudaDataType out, long long batch, size_t *bytes, cudaDataType, GRADER_PLACE) {
    int sizes[3], from[3], to[3], type = grader_fft_type(in, out);
    if (rank < 1 || rank > 3) return CUFFT_INVALID_SIZE;
    if (!type) return CUFFT_NOT_SUPPORTED;
    for (int i = 0; i < rank; i++) {
        sizes[i] = (int)n[i];
        from[i] = inembed ? (int)inembed[i] : 0;
        to[i] = onembed ? (int)onembed[i] : 0;
    }
    grader_fft_types()[plan] = (cufftType)type;
    return cufftMakePlanMany(plan, rank, sizes, inembed ? from : nullptr, (int)istride, (int)idist, onembed ? to : nullptr, (int)ostride, (int)odist, (cufftType)type, (int)batch, bytes, GRADER_HERE);
}
inline cufftResult cufftXtExec(cufftHandle plan, void *in, void *out, int direction, GRADER_PLACE) {
    auto known = grader_fft_types().find(plan);
    if (known == grader_fft_types().end()) return CUFFT_INVALID_PLAN;
    switch (known->second) {
        case CUFFT_C2C: return cufftExecC2C(plan, (cufftComplex *)in, (cufftComplex *)out, direction, GRADER_HERE);
        case CUFFT_R2C: return cufftExecR2C(plan, (cufftReal *)in, (cufftComplex *)out, GRADER_HERE);
        case CUFFT_C2R: return cufftExecC2R(plan, (cufftComplex *)in, (cufftReal *)out, GRADER_HERE);
        case CUFFT_Z2Z: return cufftExecZ2Z(plan, (cufftDoubleComplex *)in, (cufftDoubleComplex *)out, direction, GRADER_HERE);
        case CUFFT_D2Z: return cufftExecD2Z(plan, (cufftDoubleReal *)in, (cufftDoubleComplex *)out, GRADER_HERE);
        default: return cufftExecZ2D(plan, (cufftDoubleComplex *)in, (cufftDoubleReal *)out, GRADER_HERE);
    }
}
// A plan of several devices wants as many; what follows is of such plans alone.
// Callbacks are in the static library alone, and gone with CUDA 13: the shared one answers so.
enum cufftXtCallbackType_t {
    CUFFT_CB_LD_COMPLEX = 0, CUFFT_CB_LD_COMPLEX_DOUBLE = 1, CUFFT_CB_LD_REAL = 2, CUFFT_CB_LD_REAL_DOUBLE = 3,
    CUFFT_CB_ST_COMPLEX = 4, CUFFT_CB_ST_COMPLEX_DOUBLE = 5, CUFFT_CB_ST_REAL = 6, CUFFT_CB_ST_REAL_DOUBLE = 7, CUFFT_CB_UNDEFINED = 8
};
typedef cufftXtCallbackType_t cufftXtCallbackType;
typedef cufftComplex (*cufftCallbackLoadC)(void *, size_t, void *, void *);
typedef cufftDoubleComplex (*cufftCallbackLoadZ)(void *, size_t, void *, void *);
typedef cufftReal (*cufftCallbackLoadR)(void *, size_t, void *, void *);
typedef cufftDoubleReal (*cufftCallbackLoadD)(void *, size_t, void *, void *);
typedef void (*cufftCallbackStoreC)(void *, size_t, cufftComplex, void *, void *);
typedef void (*cufftCallbackStoreZ)(void *, size_t, cufftDoubleComplex, void *, void *);
typedef void (*cufftCallbackStoreR)(void *, size_t, cufftReal, void *, void *);
typedef void (*cufftCallbackStoreD)(void *, size_t, cufftDoubleReal, void *, void *);
inline cufftResult cufftXtSetCallback(cufftHandle, void **, cufftXtCallbackType, void **) { return CUFFT_NOT_IMPLEMENTED; }
inline cufftResult cufftXtClearCallback(cufftHandle, cufftXtCallbackType) { return CUFFT_NOT_IMPLEMENTED; }
inline cufftResult cufftXtSetCallbackSharedSize(cufftHandle, cufftXtCallbackType, size_t) { return CUFFT_NOT_IMPLEMENTED; }
inline cufftResult cufftXtSetGPUs(cufftHandle, int, int *) { return CUFFT_INVALID_DEVICE; }
inline cufftResult cufftXtMalloc(cufftHandle, cudaLibXtDesc **, cufftXtSubFormat) { return CUFFT_INVALID_PLAN; }
inline cufftResult cufftXtMemcpy(cufftHandle, void *, void *, cufftXtCopyType) { return CUFFT_INVALID_PLAN; }
inline cufftResult cufftXtFree(cudaLibXtDesc *) { return CUFFT_INVALID_PLAN; }
inline cufftResult cufftXtExecDescriptorC2C(cufftHandle, cudaLibXtDesc *, cudaLibXtDesc *, int) { return CUFFT_INVALID_PLAN; }
inline cufftResult cufftXtExecDescriptorZ2Z(cufftHandle, cudaLibXtDesc *, cudaLibXtDesc *, int) { return CUFFT_INVALID_PLAN; }
