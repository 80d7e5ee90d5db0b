// OpenMP's functions for one thread: pragmas are ignored, what they would share is done in order.
#pragma once
#include <time.h>
typedef struct { int held; } omp_lock_t;
typedef struct { int held; } omp_nest_lock_t;
typedef enum { omp_sched_static = 1, omp_sched_dynamic, omp_sched_guided, omp_sched_auto } omp_sched_t;
static inline double omp_get_wtime() { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + 1e-9 * t.tv_nsec; }
static inline double omp_get_wtick() { return 1e-9; }
static inline int omp_get_max_threads() { return 1; }
static inline int omp_get_num_threads() { return 1; }
static inline int omp_get_thread_num() { return 0; }
static inline int omp_get_num_procs() { return 1; }
static inline int omp_get_thread_limit() { return 1; }
static inline int omp_get_num_devices() { return 0; }
static inline int omp_get_level() { return 0; }
static inline int omp_get_active_level() { return 0; }
static inline int omp_in_parallel() { return 0; }
static inline int omp_get_nested() { return 0; }
static inline int omp_get_dynamic() { return 0; }
static inline int omp_get_max_active_levels() { return 1; }
static inline void omp_set_num_threads(int) {}
static inline void omp_set_nested(int) {}
static inline void omp_set_dynamic(int) {}
static inline void omp_set_max_active_levels(int) {}
static inline void omp_set_schedule(omp_sched_t, int) {}
static inline void omp_get_schedule(omp_sched_t *kind, int *chunk) { *kind = omp_sched_dynamic; *chunk = 1; }
static inline void omp_init_lock(omp_lock_t *lock) { lock->held = 0; }
static inline void omp_destroy_lock(omp_lock_t *lock) { lock->held = 0; }
static inline void omp_set_lock(omp_lock_t *lock) { lock->held = 1; }
static inline void omp_unset_lock(omp_lock_t *lock) { lock->held = 0; }
static inline int omp_test_lock(omp_lock_t *lock) { return lock->held ? 0 : (lock->held = 1); }
static inline void omp_init_nest_lock(omp_nest_lock_t *lock) { lock->held = 0; }
static inline void omp_destroy_nest_lock(omp_nest_lock_t *lock) { lock->held = 0; }
static inline void omp_set_nest_lock(omp_nest_lock_t *lock) { lock->held++; }
static inline void omp_unset_nest_lock(omp_nest_lock_t *lock) { lock->held--; }
static inline int omp_test_nest_lock(omp_nest_lock_t *lock) { return ++lock->held; }
