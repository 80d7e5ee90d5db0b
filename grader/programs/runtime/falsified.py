"""Results of kernels that are not what they computed when the host gets them: what checks them has to notice.

Only of arrays of floating-point numbers, and by so much that no tolerance lets it pass.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.programs.device_memory import Allocation
from grader.programs.runtime.state import State
from grader.submission.kernels.records import SeenLaunch

_FLOATS = re.compile(r"(float[2-4]?|double)\s*\*")
MORE, TIMES = 1000.0, 2.0
MAX_DOUBLED = 16
"""Copies, each changed by more than the one before: results of one kernel may be held against those of another."""
MAX_ROWS = 1024
"""Of a copy, whose numbers are looked at."""
MAX_BYTES = 16 << 20
"""Of them together."""


def falsify(
    state: State, allocation: Allocation | None, data: npt.NDArray[np.uint8], rows: Sequence[tuple[int, int]]
) -> None:
    """Change what was just copied to the host of an array that a kernel wrote; rows: of offset in `data` and bytes."""
    written = _floats_of(state, allocation)
    if written is not None:
        launch, dtype = written
        more = MORE * 2.0 ** (len(state.falsified) % MAX_DOUBLED)
        _change(data, rows, dtype, state.limits.falsifies, more)
        state.falsified.append(launch.display)


def note_largest(
    state: State, allocation: Allocation | None, data: npt.NDArray[np.uint8], rows: Sequence[tuple[int, int]]
) -> None:
    """Note how large the numbers are that were just copied to the host of an array that a kernel wrote."""
    written = _floats_of(state, allocation)
    if written is None:
        return
    left = MAX_BYTES
    for offset, size in rows[:MAX_ROWS]:
        whole = min(size, left) // written[1].itemsize * written[1].itemsize
        left -= whole
        values = data[offset : offset + whole].view(written[1])
        state.largest = max(state.largest, float(np.max(np.abs(values), initial=0.0, where=np.isfinite(values))))


def _floats_of(state: State, allocation: Allocation | None) -> tuple[SeenLaunch, np.dtype[np.floating[Any]]] | None:
    """Return the last launch that may have written an array of floating-point numbers, and their type."""
    if allocation is None:
        return None
    for launch in reversed(state.launches):
        own = [a for a in launch.arguments if a.serial == allocation.serial]
        types = [match for a in own if (match := _FLOATS.match(a.type_text)) is not None and "const" not in a.type_text]
        if types:
            return launch, np.dtype("f8" if types[0][1] == "double" else "f4")
    return None


def _change(
    data: npt.NDArray[np.uint8],
    rows: Sequence[tuple[int, int]],
    dtype: np.dtype[np.floating[Any]],
    way: str,
    least: float,
) -> None:
    left = sum(size for _offset, size in rows) // 2 if way == "half" else 0
    for offset, size in rows:
        kept = min(left, size) // dtype.itemsize * dtype.itemsize
        left -= kept
        part = data[offset + kept : offset + size // dtype.itemsize * dtype.itemsize]
        values = np.frombuffer(part.tobytes(), dtype)
        more = TIMES * np.abs(values) + dtype.type(least)
        part[:] = np.frombuffer((values + more if way == "up" else values - more).astype(dtype).tobytes(), np.uint8)
