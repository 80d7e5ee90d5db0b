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

_FLOATS = re.compile(r"(float[2-4]?|double)\s*\*")
MORE, TIMES = 1000.0, 2.0


def falsify(
    state: State, allocation: Allocation | None, data: npt.NDArray[np.uint8], rows: Sequence[tuple[int, int]]
) -> None:
    """Change what was just copied to the host of an array that a kernel wrote; rows: of offset in `data` and bytes."""
    if allocation is None:
        return
    for launch in reversed(state.launches):
        own = [a for a in launch.arguments if a.serial == allocation.serial]
        types = [match for a in own if (match := _FLOATS.match(a.type_text)) is not None and "const" not in a.type_text]
        if types:
            dtype: np.dtype[np.floating[Any]] = np.dtype("f8" if types[0][1] == "double" else "f4")
            _change(data, rows, dtype, state.limits.falsifies)
            state.falsified.append(launch.display)
            return


def _change(
    data: npt.NDArray[np.uint8], rows: Sequence[tuple[int, int]], dtype: np.dtype[np.floating[Any]], way: str
) -> None:
    left = sum(size for _offset, size in rows) // 2 if way == "half" else 0
    for offset, size in rows:
        kept = min(left, size) // dtype.itemsize * dtype.itemsize
        left -= kept
        part = data[offset + kept : offset + size // dtype.itemsize * dtype.itemsize]
        values = np.frombuffer(part.tobytes(), dtype)
        more = TIMES * np.abs(values) + dtype.type(MORE)
        part[:] = np.frombuffer((values + more if way == "up" else values - more).astype(dtype).tobytes(), np.uint8)
