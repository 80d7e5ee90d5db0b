// Names of cooperative groups; what they do is device code.
#pragma once
#include "cuda_runtime.h"
namespace cooperative_groups {
struct thread_block {};
struct grid_group {};
struct coalesced_group {};
template <unsigned N, class P = void> struct thread_block_tile {};
struct thread_group {};
}
