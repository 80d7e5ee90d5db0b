// In place of libc++'s: libstdc++'s system_clock, which counts nanoseconds, and which its high_resolution_clock is.
#pragma once
#include <__chrono/duration.h>
#include <__chrono/time_point.h>
#include <__config>
#include <ctime>
_LIBCPP_BEGIN_NAMESPACE_STD
namespace chrono {
class system_clock {
public:
    typedef nanoseconds duration;
    typedef duration::rep rep;
    typedef duration::period period;
    typedef chrono::time_point<system_clock> time_point;
    static constexpr bool is_steady = false;
    // Not called as in the library, which counts microseconds.
    _LIBCPP_HIDE_FROM_ABI static time_point now() noexcept {
        ::timespec __t;
        ::clock_gettime(CLOCK_REALTIME, &__t);
        return time_point(seconds(__t.tv_sec) + nanoseconds(__t.tv_nsec));
    }
    _LIBCPP_HIDE_FROM_ABI static time_t to_time_t(const time_point &__t) noexcept {
        return time_t(duration_cast<seconds>(__t.time_since_epoch()).count());
    }
    _LIBCPP_HIDE_FROM_ABI static time_point from_time_t(time_t __t) noexcept { return time_point(seconds(__t)); }
};
#if _LIBCPP_STD_VER >= 20
template <class _Duration> using sys_time = time_point<system_clock, _Duration>;
using sys_seconds = sys_time<seconds>;
using sys_days = sys_time<days>;
#endif
} // namespace chrono
_LIBCPP_END_NAMESPACE_STD
