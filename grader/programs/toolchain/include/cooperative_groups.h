// Names of cooperative groups; what they do is device code, which both halves have where both are clang's.
#pragma once
#include "cuda_runtime.h"
#ifdef GRADER_WHOLE
#include "grader_device_groups.h"
#else
namespace cooperative_groups {
struct thread_block {};
struct grid_group {};
struct coalesced_group {};
template <unsigned N, class P = void> struct thread_block_tile {};
struct thread_group {};
}
#endif
