// NVRTC: a program compiles device code as it runs.
#pragma once
#define __NVRTC_H__
#include "cuda_runtime.h"
struct _nvrtcProgram;
typedef _nvrtcProgram *nvrtcProgram;
enum nvrtcResult {
    NVRTC_SUCCESS = 0, NVRTC_ERROR_OUT_OF_MEMORY = 1, NVRTC_ERROR_PROGRAM_CREATION_FAILURE = 2,
    NVRTC_ERROR_INVALID_INPUT = 3, NVRTC_ERROR_INVALID_PROGRAM = 4, NVRTC_ERROR_INVALID_OPTION = 5,
    NVRTC_ERROR_COMPILATION = 6, NVRTC_ERROR_BUILTIN_OPERATION_FAILURE = 7,
    NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION = 8, NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION = 9,
    NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID = 10, NVRTC_ERROR_INTERNAL_ERROR = 11
};
#define GRADER_RTC(name, ...) GRADER_IMPORT(#name) nvrtcResult name(__VA_ARGS__, GRADER_PLACE);
GRADER_RTC(nvrtcCreateProgram, nvrtcProgram *program, const char *text, const char *name, int count, const char *const *headers, const char *const *names)
GRADER_RTC(nvrtcDestroyProgram, nvrtcProgram *program)
GRADER_RTC(nvrtcAddNameExpression, nvrtcProgram program, const char *expression)
GRADER_RTC(nvrtcCompileProgram, nvrtcProgram program, int count, const char *const *options)
GRADER_RTC(nvrtcGetPTXSize, nvrtcProgram program, size_t *size)
GRADER_RTC(nvrtcGetPTX, nvrtcProgram program, char *ptx)
GRADER_RTC(nvrtcGetProgramLogSize, nvrtcProgram program, size_t *size)
GRADER_RTC(nvrtcGetProgramLog, nvrtcProgram program, char *log)
GRADER_RTC(nvrtcGetLoweredName, nvrtcProgram program, const char *expression, const char **name)
#undef GRADER_RTC
// There is no machine code here: what a module is loaded from is PTX.
inline nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *size, GRADER_PLACE) { return nvrtcGetPTXSize(program, size, GRADER_HERE); }
inline nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *image, GRADER_PLACE) { return nvrtcGetPTX(program, image, GRADER_HERE); }
inline nvrtcResult nvrtcGetLTOIRSize(nvrtcProgram program, size_t *size, GRADER_PLACE) { return nvrtcGetPTXSize(program, size, GRADER_HERE); }
inline nvrtcResult nvrtcGetLTOIR(nvrtcProgram program, char *image, GRADER_PLACE) { return nvrtcGetPTX(program, image, GRADER_HERE); }
inline nvrtcResult nvrtcVersion(int *major, int *minor) { *major = 13; *minor = 0; return NVRTC_SUCCESS; }
inline const char *nvrtcGetErrorString(nvrtcResult result) {
    static const char *names[] = {"NVRTC_SUCCESS", "NVRTC_ERROR_OUT_OF_MEMORY", "NVRTC_ERROR_PROGRAM_CREATION_FAILURE", "NVRTC_ERROR_INVALID_INPUT", "NVRTC_ERROR_INVALID_PROGRAM", "NVRTC_ERROR_INVALID_OPTION", "NVRTC_ERROR_COMPILATION", "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE", "NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION", "NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION", "NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID", "NVRTC_ERROR_INTERNAL_ERROR"};
    return result >= 0 && result <= NVRTC_ERROR_INTERNAL_ERROR ? names[result] : "NVRTC_ERROR unknown";
}
