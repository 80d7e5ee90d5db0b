// Barriers in shared memory; what they do is device code.
#pragma once
#include "cuda_runtime.h"
