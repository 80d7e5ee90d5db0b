// What the sandbox has of it, and the numbers of processes that programs draw their random numbers from.
#pragma once
#include_next <unistd.h>
#ifdef __cplusplus
extern "C" {
#endif
__attribute__((weak)) pid_t getpid(void) { return 2; }
__attribute__((weak)) pid_t getppid(void) { return 1; }
#ifdef __cplusplus
}
#endif
