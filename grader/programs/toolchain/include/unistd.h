// What the sandbox has of it, and the numbers of processes that programs draw their random numbers from.
#pragma once
#include_next <unistd.h>
extern "C" {
__attribute__((weak)) pid_t getpid(void) { return 2; }
__attribute__((weak)) pid_t getppid(void) { return 1; }
}
