// Copies to shared memory that are not waited for; what they do is device code.
#pragma once
#include "cuda_runtime.h"
