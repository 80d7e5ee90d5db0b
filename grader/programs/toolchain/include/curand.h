// cuRAND's host generators, every call with its place to be told of.
#pragma once
#define CURAND_H_
#include "cuda_runtime.h"
#define CURAND_VER_MAJOR 10
#define CURAND_VER_MINOR 4
#define CURAND_VER_PATCH 0
#define CURAND_VERSION 10400
struct curandGenerator_st;
typedef curandGenerator_st *curandGenerator_t;
enum curandStatus {
    CURAND_STATUS_SUCCESS = 0, CURAND_STATUS_VERSION_MISMATCH = 100, CURAND_STATUS_NOT_INITIALIZED = 101,
    CURAND_STATUS_ALLOCATION_FAILED = 102, CURAND_STATUS_TYPE_ERROR = 103, CURAND_STATUS_OUT_OF_RANGE = 104,
    CURAND_STATUS_LENGTH_NOT_MULTIPLE = 105, CURAND_STATUS_DOUBLE_PRECISION_REQUIRED = 106,
    CURAND_STATUS_LAUNCH_FAILURE = 201, CURAND_STATUS_PREEXISTING_FAILURE = 202,
    CURAND_STATUS_INITIALIZATION_FAILED = 203, CURAND_STATUS_ARCH_MISMATCH = 204, CURAND_STATUS_INTERNAL_ERROR = 999
};
typedef curandStatus curandStatus_t;
enum curandRngType {
    CURAND_RNG_TEST = 0, CURAND_RNG_PSEUDO_DEFAULT = 100, CURAND_RNG_PSEUDO_XORWOW = 101,
    CURAND_RNG_PSEUDO_MRG32K3A = 121, CURAND_RNG_PSEUDO_MTGP32 = 141, CURAND_RNG_PSEUDO_MT19937 = 142,
    CURAND_RNG_PSEUDO_PHILOX4_32_10 = 161, CURAND_RNG_QUASI_DEFAULT = 200, CURAND_RNG_QUASI_SOBOL32 = 201,
    CURAND_RNG_QUASI_SCRAMBLED_SOBOL32 = 202, CURAND_RNG_QUASI_SOBOL64 = 203, CURAND_RNG_QUASI_SCRAMBLED_SOBOL64 = 204
};
typedef curandRngType curandRngType_t;
enum curandOrdering {
    CURAND_ORDERING_PSEUDO_BEST = 100, CURAND_ORDERING_PSEUDO_DEFAULT = 101, CURAND_ORDERING_PSEUDO_SEEDED = 102,
    CURAND_ORDERING_PSEUDO_LEGACY = 103, CURAND_ORDERING_PSEUDO_DYNAMIC = 104, CURAND_ORDERING_QUASI_DEFAULT = 201
};
typedef curandOrdering curandOrdering_t;
#define GRADER_RANDOM(name, ...) GRADER_IMPORT(#name) curandStatus_t name(__VA_ARGS__, GRADER_PLACE);
GRADER_RANDOM(curandCreateGenerator, curandGenerator_t *generator, curandRngType_t type)
GRADER_RANDOM(curandCreateGeneratorHost, curandGenerator_t *generator, curandRngType_t type)
GRADER_RANDOM(curandDestroyGenerator, curandGenerator_t generator)
GRADER_RANDOM(curandGetVersion, int *version)
GRADER_RANDOM(curandSetPseudoRandomGeneratorSeed, curandGenerator_t generator, unsigned long long seed)
GRADER_RANDOM(curandSetGeneratorOffset, curandGenerator_t generator, unsigned long long offset)
GRADER_RANDOM(curandSetGeneratorOrdering, curandGenerator_t generator, curandOrdering_t order)
GRADER_RANDOM(curandSetQuasiRandomGeneratorDimensions, curandGenerator_t generator, unsigned count)
GRADER_RANDOM(curandSetStream, curandGenerator_t generator, cudaStream_t stream)
GRADER_RANDOM(curandGenerate, curandGenerator_t generator, unsigned *out, size_t n)
GRADER_RANDOM(curandGenerateUniform, curandGenerator_t generator, float *out, size_t n)
GRADER_RANDOM(curandGenerateUniformDouble, curandGenerator_t generator, double *out, size_t n)
GRADER_RANDOM(curandGenerateNormal, curandGenerator_t generator, float *out, size_t n, float mean, float deviation)
GRADER_RANDOM(curandGenerateNormalDouble, curandGenerator_t generator, double *out, size_t n, double mean, double deviation)
GRADER_RANDOM(curandGenerateLogNormal, curandGenerator_t generator, float *out, size_t n, float mean, float deviation)
GRADER_RANDOM(curandGenerateLogNormalDouble, curandGenerator_t generator, double *out, size_t n, double mean, double deviation)
GRADER_RANDOM(curandGeneratePoisson, curandGenerator_t generator, unsigned *out, size_t n, double mean)
#undef GRADER_RANDOM
GRADER_IMPORT("curandGenerate") curandStatus_t curandGenerateLongLong(curandGenerator_t generator, unsigned long long *out, size_t n, GRADER_PLACE);
// Seeds are set up as the first numbers are asked for.
inline curandStatus_t curandGenerateSeeds(curandGenerator_t) { return CURAND_STATUS_SUCCESS; }
