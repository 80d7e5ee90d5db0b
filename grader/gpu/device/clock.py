"""The clock of the GPU, measured on the device and as NVML tells it."""

from __future__ import annotations

from typing import Any

from grader.gpu.device import driver
from grader.gpu.device.launch import Device
from grader.gpu.messages import uuid_text


def sm_mhz(device: Device, max_mhz: float) -> float:
    """The SM clock now: cycles that one thread counts over the nanoseconds that pass, about 20 µs."""
    counters = device.counters
    device.helpers.clock_probe(counters.at(0), int(20 * max_mhz))
    cycles, nanoseconds, *_rest = counters.read()
    return 1000 * cycles / nanoseconds if nanoseconds else 0.0


def clock_reasons(device: Device) -> int:
    """NVML's bit mask of why the clocks are not at their highest; 0 where NVML does not tell."""
    try:
        from cuda.bindings import nvml

        handle = _nvml_handle(device)
        return int(nvml.device_get_current_clocks_event_reasons(handle)) if handle else 0
    except Exception:
        # NVML is not needed: the bindings raise a class per error, and older ones lack the module.
        return 0


_nvml: dict[str, Any] = {}


def _nvml_handle(device: Device) -> Any:
    if "handle" not in _nvml:
        from cuda.bindings import nvml

        _nvml["handle"] = None
        nvml.init_v2()
        uuid = driver.call("cuDeviceGetUuid", device.handle)
        _nvml["handle"] = nvml.device_get_handle_by_uuid(f"GPU-{uuid_text(uuid.bytes)}")
    return _nvml["handle"]
