// What most samples include: command lines, timers, pictures and exceptions.
#pragma once
#include "exception.h"
#include "helper_image.h"
#include "helper_string.h"
#include "helper_timer.h"
