// cuRAND's host generators, as far as they are served.
#pragma once
#include "cuda_runtime.h"
struct curandGenerator_st;
typedef curandGenerator_st *curandGenerator_t;
enum curandStatus_t {
    CURAND_STATUS_SUCCESS = 0,
    CURAND_STATUS_VERSION_MISMATCH = 100,
    CURAND_STATUS_NOT_INITIALIZED = 101,
    CURAND_STATUS_ALLOCATION_FAILED = 102,
    CURAND_STATUS_TYPE_ERROR = 103,
    CURAND_STATUS_OUT_OF_RANGE = 104,
    CURAND_STATUS_LENGTH_NOT_MULTIPLE = 105,
    CURAND_STATUS_LAUNCH_FAILURE = 201,
    CURAND_STATUS_INTERNAL_ERROR = 999
};
enum curandRngType_t {
    CURAND_RNG_PSEUDO_DEFAULT = 100,
    CURAND_RNG_PSEUDO_XORWOW = 101,
    CURAND_RNG_PSEUDO_MRG32K3A = 121,
    CURAND_RNG_PSEUDO_MTGP32 = 141,
    CURAND_RNG_PSEUDO_MT19937 = 142,
    CURAND_RNG_PSEUDO_PHILOX4_32_10 = 161,
    CURAND_RNG_QUASI_DEFAULT = 200
};
typedef curandRngType_t curandRngType;
GRADER_IMPORT("curandCreateGenerator") curandStatus_t curandCreateGenerator(curandGenerator_t *generator, curandRngType_t type, GRADER_PLACE);
GRADER_IMPORT("curandDestroyGenerator") curandStatus_t curandDestroyGenerator(curandGenerator_t generator, GRADER_PLACE);
GRADER_IMPORT("curandSetPseudoRandomGeneratorSeed") curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t generator, unsigned long long seed, GRADER_PLACE);
GRADER_IMPORT("curandSetStream") curandStatus_t curandSetStream(curandGenerator_t generator, cudaStream_t stream, GRADER_PLACE);
GRADER_IMPORT("curandGenerate") curandStatus_t curandGenerate(curandGenerator_t generator, unsigned *out, size_t n, GRADER_PLACE);
GRADER_IMPORT("curandGenerateUniform") curandStatus_t curandGenerateUniform(curandGenerator_t generator, float *out, size_t n, GRADER_PLACE);
GRADER_IMPORT("curandGenerateUniformDouble") curandStatus_t curandGenerateUniformDouble(curandGenerator_t generator, double *out, size_t n, GRADER_PLACE);
GRADER_IMPORT("curandGenerateNormal") curandStatus_t curandGenerateNormal(curandGenerator_t generator, float *out, size_t n, float mean, float stddev, GRADER_PLACE);
GRADER_IMPORT("curandGenerateNormalDouble") curandStatus_t curandGenerateNormalDouble(curandGenerator_t generator, double *out, size_t n, double mean, double stddev, GRADER_PLACE);
