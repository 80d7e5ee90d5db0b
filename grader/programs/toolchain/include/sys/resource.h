// What a process has used: all time is its own here, and nothing else is counted.
#pragma once
#include <string.h>
#include <sys/time.h>
#include <time.h>
#define RUSAGE_SELF 0
#define RUSAGE_CHILDREN (-1)
#define RUSAGE_THREAD 1
#define RLIM_INFINITY (~0ULL)
#define RLIMIT_STACK 3
struct rusage {
    struct timeval ru_utime, ru_stime;
    long ru_maxrss, ru_ixrss, ru_idrss, ru_isrss, ru_minflt, ru_majflt, ru_nswap, ru_inblock, ru_oublock;
    long ru_msgsnd, ru_msgrcv, ru_nsignals, ru_nvcsw, ru_nivcsw;
};
typedef unsigned long long rlim_t;
struct rlimit { rlim_t rlim_cur, rlim_max; };
static inline int getrusage(int who, struct rusage *used) {
    struct timespec t;
    memset(used, 0, sizeof *used);
    clock_gettime(CLOCK_MONOTONIC, &t);
    if (who != RUSAGE_CHILDREN) { used->ru_utime.tv_sec = t.tv_sec; used->ru_utime.tv_usec = t.tv_nsec / 1000; }
    return 0;
}
static inline int getrlimit(int, struct rlimit *limit) { limit->rlim_cur = limit->rlim_max = RLIM_INFINITY; return 0; }
static inline int setrlimit(int, const struct rlimit *) { return 0; }
