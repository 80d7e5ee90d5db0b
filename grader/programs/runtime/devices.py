"""What CUDA itself says: of the devices that a program can be run on, by name, and of its errors, by number.

A file a device in `models/`: its attributes as `cudaDeviceGetAttribute` gives them, those that all have in `common`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grader.programs.records import ProgramFinding

_FOLDER = Path(__file__).parent / "models"
_COMMON = "common"


@dataclass(frozen=True, slots=True)
class Model:
    """A GPU as its data sheet and the runtime describe it.

    memory_bytes: as the runtime reports it.
    attributes: by the name behind `cudaDevAttr`, in the runtime's units.
    """

    name: str
    memory_bytes: int
    cores_per_multiprocessor: int
    attributes: Mapping[str, int]

    @property
    def capability(self) -> tuple[int, int]:
        return self.attributes["ComputeCapabilityMajor"], self.attributes["ComputeCapabilityMinor"]

    @property
    def multiprocessors(self) -> int:
        return self.attributes["MultiProcessorCount"]

    @property
    def clock_khz(self) -> int:
        """The boost clock."""
        return self.attributes["ClockRate"]

    @property
    def shared_per_multiprocessor(self) -> int:
        """Bytes."""
        return self.attributes["MaxSharedMemoryPerMultiprocessor"]

    @property
    def shared_opt_in(self) -> int:
        """Bytes that a block may have once it has asked for them."""
        return self.attributes["MaxSharedMemoryPerBlockOptin"]

    @property
    def threads_per_multiprocessor(self) -> int:
        """Resident at most."""
        return self.attributes["MaxThreadsPerMultiProcessor"]

    @property
    def blocks_per_multiprocessor(self) -> int:
        """Resident at most."""
        return self.attributes["MaxBlocksPerMultiprocessor"]


def _read(name: str) -> dict[str, dict[str, int]]:
    table: dict[str, dict[str, int]] = json.loads((_FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return table


@cache
def numbers() -> Mapping[int, str]:
    """Names of attributes by their number in `cudaDeviceAttr`."""
    return {number: name for name, number in _read(_COMMON)["numbers"].items()}


@cache
def _of_file(name: str) -> Model:
    fields = _read(name)
    return Model(**fields | {"attributes": _read(_COMMON)["attributes"] | fields["attributes"]})  # type: ignore[arg-type]


MODELS: tuple[str, ...] = tuple(sorted(path.stem for path in _FOLDER.glob("*.json") if path.stem != _COMMON))
DEFAULT = "t4"
GRADING = "grading"
"""What programs are run on to be graded: it has as much shared memory as any, so that none is ended by its lack."""


def model_of(name: str) -> Model:
    """Return a device by its name in `MODELS`, or the one of grading.

    That one is the default in all else: of the capability that kernels are graded for.
    """
    if name != GRADING:
        return _of_file(name)
    most = max((_of_file(model) for model in MODELS), key=lambda model: model.shared_opt_in)
    shared = ("MaxSharedMemoryPerMultiprocessor", "MaxSharedMemoryPerBlockOptin")
    default = _of_file(DEFAULT)
    return replace(default, attributes=default.attributes | {key: most.attributes[key] for key in shared})  # type: ignore[operator]


class CudaError(Exception):
    """An error that a call fails with; `finding` says more than the error itself."""

    def __init__(self, code: int, finding: ProgramFinding | None = None) -> None:
        self.code = code
        self.finding = finding
        super().__init__(code)


NAMES = {
    0: ("cudaSuccess", "no error"),
    1: ("cudaErrorInvalidValue", "invalid argument"),
    2: ("cudaErrorMemoryAllocation", "out of memory"),
    3: ("cudaErrorInitializationError", "initialization error"),
    4: ("cudaErrorCudartUnloading", "driver shutting down"),
    9: ("cudaErrorInvalidConfiguration", "invalid configuration argument"),
    12: ("cudaErrorInvalidPitchValue", "invalid pitch argument"),
    13: ("cudaErrorInvalidSymbol", "invalid device symbol"),
    16: ("cudaErrorInvalidHostPointer", "invalid host pointer"),
    17: ("cudaErrorInvalidDevicePointer", "invalid device pointer"),
    20: ("cudaErrorInvalidChannelDescriptor", "invalid channel descriptor"),
    21: ("cudaErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"),
    26: ("cudaErrorInvalidFilterSetting", "linear filtering not supported for non-float type"),
    35: ("cudaErrorInsufficientDriver", "CUDA driver version is insufficient for CUDA runtime version"),
    52: ("cudaErrorMissingConfiguration", "__global__ function call is not configured"),
    98: ("cudaErrorInvalidDeviceFunction", "invalid device function"),
    100: ("cudaErrorNoDevice", "no CUDA-capable device is detected"),
    101: ("cudaErrorInvalidDevice", "invalid device ordinal"),
    200: ("cudaErrorInvalidKernelImage", "device kernel image is invalid"),
    209: ("cudaErrorNoKernelImageForDevice", "no kernel image is available for execution on the device"),
    215: ("cudaErrorUnsupportedLimit", "limit is not supported on this architecture"),
    217: ("cudaErrorPeerAccessUnsupported", "peer access is not supported between these two devices"),
    218: ("cudaErrorInvalidPtx", "a PTX JIT compilation failed"),
    400: ("cudaErrorInvalidResourceHandle", "invalid resource handle"),
    401: ("cudaErrorIllegalState", "the operation cannot be performed in the present state"),
    500: ("cudaErrorSymbolNotFound", "named symbol not found"),
    600: ("cudaErrorNotReady", "device not ready"),
    700: ("cudaErrorIllegalAddress", "an illegal memory access was encountered"),
    701: ("cudaErrorLaunchOutOfResources", "too many resources requested for launch"),
    702: ("cudaErrorLaunchTimeout", "the launch timed out and was terminated"),
    704: ("cudaErrorPeerAccessAlreadyEnabled", "peer access is already enabled"),
    705: ("cudaErrorPeerAccessNotEnabled", "peer access has not been enabled"),
    710: ("cudaErrorAssert", "device-side assert triggered"),
    712: ("cudaErrorHostMemoryAlreadyRegistered", "part or all of the requested memory range is already mapped"),
    713: ("cudaErrorHostMemoryNotRegistered", "pointer does not correspond to a registered memory region"),
    714: ("cudaErrorHardwareStackError", "hardware stack error"),
    715: ("cudaErrorIllegalInstruction", "an illegal instruction was encountered"),
    716: ("cudaErrorMisalignedAddress", "misaligned address"),
    717: ("cudaErrorInvalidAddressSpace", "operation not supported on global/shared address space"),
    719: ("cudaErrorLaunchFailure", "unspecified launch failure"),
    720: ("cudaErrorCooperativeLaunchTooLarge", "too many blocks in cooperative launch"),
    800: ("cudaErrorNotPermitted", "operation not permitted"),
    801: ("cudaErrorNotSupported", "operation not supported"),
    900: ("cudaErrorStreamCaptureUnsupported", "operation not permitted when stream is capturing"),
    901: ("cudaErrorStreamCaptureInvalidated", "operation failed due to a previous error during capture"),
    903: ("cudaErrorStreamCaptureUnmatched", "the capture was not initiated in this stream"),
    904: ("cudaErrorStreamCaptureUnjoined", "capturing stream has unjoined work"),
    906: (
        "cudaErrorStreamCaptureImplicit",
        "operation would make the legacy stream depend on a capturing blocking stream",
    ),
    910: (
        "cudaErrorGraphExecUpdateFailure",
        "the graph update was not performed because it included changes which violated constraints specific to "
        "instantiated graph update",
    ),
    999: ("cudaErrorUnknown", "unknown error"),
}
STICKY = frozenset({700, 702, 710, 714, 715, 716, 717, 719})
"""After one of these every later call returns it: the context is gone (CUDA runtime API, error handling)."""


def name_of(code: int) -> str:
    """`cudaErrorInvalidValue` of 1."""
    return NAMES.get(code, ("unrecognized error code", ""))[0]


def text_of(code: int) -> str:
    """What `cudaGetErrorString` returns."""
    return NAMES.get(code, ("", "unrecognized error code"))[1]
