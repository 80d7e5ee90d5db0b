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
#include "grader_device_names.h"
#ifndef INFINITY_GRADER
#define INFINITY_GRADER
#endif
#ifdef major
#undef major
#undef minor
#endif
