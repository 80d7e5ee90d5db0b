"""The devices a program can be run on, by name, and the questions that programs ask about them.

A file a device in `models/`: its attributes as `cudaDeviceGetAttribute` gives them, those that all have in `common`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

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
        """Compute capability."""
        return self.attributes["ComputeCapabilityMajor"], self.attributes["ComputeCapabilityMinor"]

    @property
    def multiprocessors(self) -> int:
        """How many there are."""
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
    """A device by its name in `MODELS`, or the one of grading.

    That one is the default in all else: of the capability that kernels are graded for.
    """
    if name != GRADING:
        return _of_file(name)
    most = max((_of_file(model) for model in MODELS), key=lambda model: model.shared_opt_in)
    shared = ("MaxSharedMemoryPerMultiprocessor", "MaxSharedMemoryPerBlockOptin")
    default = _of_file(DEFAULT)
    return replace(default, attributes=default.attributes | {key: most.attributes[key] for key in shared})  # type: ignore[operator]
