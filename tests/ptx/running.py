"""Compile a CUDA source and run its kernel on the emulator, in one line of a test."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from grader.ptx.frontend.nodes import Module
from grader.ptx.frontend.parser import parse
from grader.ptx.launch import Launch, launch
from grader.ptx.memory import Buffer, Device
from grader.ptx.records import Hazard, LaunchReport
from tests.ptx.nvrtc import compile_ptx


@cache
def compiled(source: str, options: tuple[str, ...] = ()) -> Module:
    return parse(compile_ptx(source, options=options))


class Run:
    """What came of a launch: the report and the buffers, by position."""

    def __init__(self, report: LaunchReport, buffers: list[Buffer], arrays: list[Any]) -> None:
        self.report = report
        self.buffers = buffers
        self._arrays = arrays

    def __getitem__(self, index: int) -> Any:
        """The contents of the index-th argument that is a buffer."""
        kept = self._arrays[index]
        return self.buffers[index].read(*((kept.dtype, kept.shape) if isinstance(kept, np.ndarray) else (np.float32,)))

    @property
    def hazards(self) -> list[Hazard]:
        return self.report.hazards

    def kinds(self) -> list[tuple[str, str, int]]:
        """(kind, detail, line) of every hazard, in order."""
        return [(h.kind, h.detail, h.line) for h in self.hazards]


def run(
    source: str,
    grid: int | Sequence[int],
    block: int | Sequence[int],
    *arguments: Any,
    entry: str = "",
    observe: bool = True,
    options: tuple[str, ...] = (),
    **more: Any,
) -> Run:
    """Run the (only) kernel: arrays become buffers, ints bytes of unwritten memory when given as `Bytes`, else ints."""
    module = compiled(source, options)
    device = Device()
    buffers, arrays = [], []
    passed: list[Any] = []
    for argument in arguments:
        if isinstance(argument, np.ndarray | Bytes):
            contents = argument if isinstance(argument, np.ndarray) else int(argument)
            buffers.append(device.buffer(f"arg{len(passed)}", contents))
            arrays.append(argument)
            passed.append(buffers[-1])
        else:
            passed.append(np.int32(argument) if isinstance(argument, int) else argument)
    report = launch(
        module,
        Launch(
            entry or module.entries()[0],
            (grid,) if isinstance(grid, int) else grid,
            (block,) if isinstance(block, int) else block,
            passed,
            device=device,
            observe=observe,
            **more,
        ),
    )
    return Run(report, buffers, arrays)


class Bytes(int):
    """So many bytes that nothing has written."""
