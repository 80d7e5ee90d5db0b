#pragma once
#include "helper_functions.h"
