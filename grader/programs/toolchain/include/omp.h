// OpenMP's functions for one thread: pragmas are ignored, what they would share is done in order.
#pragma once
#include <time.h>
static inline double omp_get_wtime() { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + 1e-9 * t.tv_nsec; }
static inline int omp_get_max_threads() { return 1; }
static inline int omp_get_num_threads() { return 1; }
static inline int omp_get_thread_num() { return 0; }
static inline int omp_get_num_procs() { return 1; }
static inline void omp_set_num_threads(int) {}
