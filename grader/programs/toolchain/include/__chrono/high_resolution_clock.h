// In place of libc++'s, to which it is the steady clock: programs assign its times to those of the system's.
#pragma once
#include <__chrono/steady_clock.h>
#include <__chrono/system_clock.h>
_LIBCPP_BEGIN_NAMESPACE_STD
namespace chrono {
typedef system_clock high_resolution_clock;
}
_LIBCPP_END_NAMESPACE_STD
