// What nvcc reads before every program.
#pragma once
#include "grader_cuda_types.h"
#include <assert.h>
// Not nvcc, but Thrust's headers bring it with them.
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "grader_glibc.h"
#include <cmath>
#include <cstdlib>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>
// What comes with libstdc++'s <cmath>: programs use std::min, std::copy and their kin without <algorithm>.
#include <__algorithm/copy.h>
#include <__algorithm/copy_backward.h>
#include <__algorithm/equal.h>
#include <__algorithm/fill.h>
#include <__algorithm/fill_n.h>
#include <__algorithm/iter_swap.h>
#include <__algorithm/lexicographical_compare.h>
#include <__algorithm/lower_bound.h>
#include <__algorithm/max.h>
#include <__algorithm/min.h>
#include <__algorithm/mismatch.h>
#include <__algorithm/move.h>
#include <__algorithm/move_backward.h>
#include <__algorithm/swap_ranges.h>
#include "grader_cuda_api.h"
#include "grader_cuda_memory.h"
#include "grader_cuda_streams.h"
#include "grader_cuda_textures.h"
#include "grader_cuda_graphs.h"
#ifdef GRADER_WHOLE
#include "grader_device.h"
#endif
#include "grader_constant_math.h"
#include "grader_device_names.h"
#include "grader_msvc.h"
// There is no shell: `system("pause")` does nothing.
extern "C" __attribute__((weak)) int system(const char *) { return 0; }
