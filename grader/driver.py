"""The CUDA driver: the one place through which every call goes, so that no error code is overlooked.

As a program (`main`) it prints model and UUID of each GPU as JSON, an empty list where there are none.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import re
import struct
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

STICKY = frozenset({700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 999})
"""CUresult of which the driver's documentation says that the process must be ended and started anew."""


COOPERATIVE_LAUNCH_TOO_LARGE = 720
"""CUresult."""


class DriverError(Exception):
    """A driver call failed; code and name are CUresult's."""

    def __init__(self, call: str, code: int, name: str) -> None:
        self.code = code
        self.name = name
        super().__init__(f"{call}: {name} ({code})")

    @property
    def sticky(self) -> bool:
        """Every later call of this process will fail too."""
        return self.code in STICKY


def call(name: str, *arguments: Any) -> Any:
    """Call a function of the driver API; its results without the status: none, one, or a tuple.

    Raises DriverError: it failed.
    """
    answer = function(name)(*arguments)
    status = answer[0]
    if int(status) != 0:
        raise DriverError(name, int(status), status.name)
    return answer[1] if len(answer) == 2 else answer[1:]


_functions: dict[str, Any] = {}


def function(name: str) -> Any:
    """A function of the driver API itself, whose answer begins with the status: a launch is one of thousands."""
    cached = _functions.get(name)
    if cached is None:
        from cuda.bindings import driver

        cached = _functions[name] = getattr(driver, name)
    return cached


def attribute(device: Any, name: str) -> int:
    """A device attribute by the end of its name in CUdevice_attribute.

    Raises DriverError: the driver does not know it.
    """
    from cuda.bindings import driver

    return int(call("cuDeviceGetAttribute", getattr(driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}"), device))


def function_attribute(function: Any, name: str) -> int:
    """An attribute of a loaded kernel by the end of its name in CUfunction_attribute."""
    from cuda.bindings import driver

    return int(call("cuFuncGetAttribute", getattr(driver.CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{name}"), function))


class Parameters:
    """Kernel parameters in the form that the driver takes: an array of pointers to values, which lie in storage of its
    own.  The driver has read them when a launch returns, so that the next launch may be handed the same storage.

    sizes: bytes of each.  starts: where each lies in what `put_whole` is handed.
    """

    def __init__(self, sizes: Sequence[int], starts: Sequence[int] | None = None) -> None:
        # Each where anything may lie.
        padded = [-(-size // 16) * 16 for size in sizes]
        starts = starts or [0, *accumulate(padded)][: len(sizes)]
        self._layout = struct.Struct(
            "".join(f"{size}s{room - size}x" for size, room in zip(sizes, padded, strict=True))
        )
        length = max((start + size for start, size in zip(starts, sizes, strict=True)), default=0)
        self._storage = (ctypes.c_char * (max(length, self._layout.size) + 16))()
        base = -(-ctypes.addressof(self._storage) // 16) * 16
        self._offset = base - ctypes.addressof(self._storage)
        self._whole = memoryview(self._storage).cast("B")[self._offset : self._offset + length]
        self._pointers = (ctypes.c_void_p * (len(sizes) + 1))(*[base + start for start in starts])
        self.address = ctypes.addressof(self._pointers)
        """Address of the array of pointers; valid as long as this object lives."""

    def put(self, values: Sequence[bytes]) -> None:
        """Have the values for the next launch, each as long as was said."""
        self._layout.pack_into(self._storage, self._offset, *values)

    def put_whole(self, values: bytes) -> None:
        """The same, with each value where it starts, up to the end of the last."""
        self._whole[:] = values


def parameters(values: Sequence[bytes | int]) -> Parameters:
    """`values` in order: an int is a device address (64 bits), bytes are a scalar as it lies in memory."""
    raw = [value.to_bytes(8, "little") if isinstance(value, int) else value for value in values]
    room = Parameters([len(value) for value in raw])
    room.put(raw)
    return room


def launch(
    function: Any,
    grid: Sequence[int],
    block: Sequence[int],
    shared_bytes: int,
    stream: Any,
    arguments: Parameters,
    cooperative: bool = False,
) -> None:
    """Enqueue a launch; a cooperative one of more blocks than can be resident is made as any other."""
    if cooperative:
        try:
            call("cuLaunchCooperativeKernel", function, *grid, *block, shared_bytes, stream, arguments.address)
            return
        except DriverError as error:
            if error.code != COOPERATIVE_LAUNCH_TOO_LARGE:
                raise
    call("cuLaunchKernel", function, *grid, *block, shared_bytes, stream, arguments.address, 0)


def u32(value: int) -> bytes:
    """A 32-bit scalar argument."""
    return (value & 0xFFFFFFFF).to_bytes(4, "little")


def u64(value: int) -> bytes:
    """A 64-bit scalar argument."""
    return (value & 0xFFFFFFFFFFFFFFFF).to_bytes(8, "little")


def f64(value: float) -> bytes:
    """A float64 scalar argument."""
    return bytes(ctypes.c_double(value))


def uuid_text(raw: bytes) -> str:
    """A device's 16 bytes in the usual form."""
    digits = bytes(raw[:16]).hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def version() -> str:
    """The kernel module's version, as `nvidia-smi` shows it; the version of CUDA where nothing tells it."""
    with contextlib.suppress(OSError):
        # At once, where NVML is another library to start.
        match = re.search(r"Kernel Module.*?(\d+\.\d[\d.]*)", Path("/proc/driver/nvidia/version").read_text())
        if match is not None:
            return match[1]
    with contextlib.suppress(Exception):
        # As for the clocks: NVML is not needed.
        from cuda.bindings import nvml

        nvml.init_v2()
        return str(nvml.system_get_driver_version())
    number = int(call("cuDriverGetVersion"))
    return f"CUDA {number // 1000}.{number % 1000 // 10}"


def main() -> None:
    """Print `[[model, UUID], …]` in the driver's order; no context is made."""
    try:
        call("cuInit", 0)
        handles = [call("cuDeviceGet", number) for number in range(call("cuDeviceGetCount"))]
        devices = [
            (
                call("cuDeviceGetName", 128, handle).split(b"\0")[0].decode(errors="replace"),
                uuid_text(call("cuDeviceGetUuid", handle).bytes),
            )
            for handle in handles
        ]
    except (DriverError, ImportError, RuntimeError, OSError):
        devices = []
    print(json.dumps(devices))
