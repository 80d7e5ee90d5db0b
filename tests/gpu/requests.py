"""Launches for the tests."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from grader.launching.backend import BufferArgument, LaunchRequest, ScalarArgument


def vector(
    entry: str, count: int, blocks: int = 1, threads: int = 256, number: int | None = None, data: bool = True
) -> LaunchRequest:
    """`entry(const float *in, float *out, int n)` on `count` floats 1, 2, 3, …"""
    values: npt.NDArray[np.generic] = np.arange(1, count + 1, dtype=np.float32) if data else np.zeros(count, np.float32)
    return LaunchRequest(
        entry,
        (blocks, 1, 1),
        (threads, 1, 1),
        0,
        [
            BufferArgument("in", (count,), "float32", values, is_output=False),
            BufferArgument("out", (count,), "float32", None, is_output=True),
            ScalarArgument(count if number is None else number, "int32"),
        ],
    )
