// What nvcc reads before every program.
#pragma once
#include "grader_cuda_types.h"
#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmath>
#include <cstdlib>
#include <new>
#include <utility>
#include "grader_cuda_api.h"
#include "grader_cuda_memory.h"
#include "grader_cuda_streams.h"
#include "grader_cuda_textures.h"
#include "grader_cuda_graphs.h"
#ifdef GRADER_WHOLE
#include "grader_device.h"
#endif
#include "grader_device_names.h"
#include "grader_msvc.h"
#include "grader_random.h"
// There is no shell: `system("pause")` does nothing.
extern "C" __attribute__((weak)) int system(const char *) { return 0; }
