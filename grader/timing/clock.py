"""Whether the GPU ran at its usual clock while something was timed."""

from __future__ import annotations

LEAST_SHARE = 0.75
"""Of the highest SM clock; below it a round does not count (nvbench's rule)."""

# NVML's nvmlClocksEventReasons (nvml.h) that mean the hardware is protecting itself.
HARDWARE_SLOWDOWN = 0x8
SOFTWARE_THERMAL = 0x20
HARDWARE_THERMAL = 0x40
POWER_BRAKE = 0x80
THROTTLED = HARDWARE_SLOWDOWN | SOFTWARE_THERMAL | HARDWARE_THERMAL | POWER_BRAKE


def is_throttled(sm_mhz: float, reasons: int, max_sm_mhz: float) -> bool:
    """Too hot, braked, or for whatever reason under three quarters of its highest clock.

    sm_mhz of 0 stands for a clock that could not be read, and counts as well.
    """
    return bool(reasons & THROTTLED) or 0 < sm_mhz < LEAST_SHARE * max_sm_mhz
