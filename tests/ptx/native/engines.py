"""Runs a kernel in the interpreter and in generated code, and compares all that comes of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

from grader.ptx.frontend.nodes import Module
from grader.ptx.launch import Launch, launch
from grader.ptx.limits import LimitExceeded
from grader.ptx.memory import Device
from grader.ptx.native import engine
from grader.ptx.records import LaunchReport
from tests.ptx.running import Bytes, compiled

Outcome = tuple[dict[str, Any] | str, list[bytes], list[list[bool]]]


@contextmanager
def generated_at_once() -> Iterator[None]:
    """Generated code from the first instruction on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "PATIENCE", 0)
        patch.setattr(engine, "PATIENCE_PER_INSTRUCTION", 0)
        yield


@contextmanager
def interpreted_only() -> Iterator[None]:
    """No launch has few enough lanes for generated code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "FEW_LANES", -1)
        yield


def both(
    source: str, grid: int | Sequence[int], block: int | Sequence[int], *arguments: Any, entry: str = "", **more: Any
) -> tuple[LaunchReport | str, int]:
    """Run a kernel in both engines; (what came of it, in how many launches generated code went to its end).

    Arrays become buffers, `Bytes` memory that nothing has written, other numbers 32-bit integers.
    """
    module = compiled(source)
    entry = entry or module.entries()[0]
    shape = ((grid,) if isinstance(grid, int) else grid, (block,) if isinstance(block, int) else block)
    with interpreted_only():
        _, expected = _one(module, entry, *shape, arguments, more)
    module.derived.pop("engines", None)
    with generated_at_once():
        report, got = _one(module, entry, *shape, arguments, more)
    for name, mine, other in zip(("report", "memory", "written"), got, expected, strict=True):
        assert mine == other, name
    histories = module.derived.get("engines", {})
    return report, sum(history.generated for history in histories.values())


def _one(
    module: Module, entry: str, grid: Sequence[int], block: Sequence[int], arguments: Sequence[Any], more: Any
) -> tuple[LaunchReport | str, Outcome]:
    device = Device()
    passed: list[Any] = []
    for argument in arguments:
        if isinstance(argument, np.ndarray | Bytes):
            contents = argument if isinstance(argument, np.ndarray) else int(argument)
            passed.append(device.buffer(f"arg{len(passed)}", contents))
        else:
            passed.append(np.int32(argument) if isinstance(argument, int) else argument)
    report: LaunchReport | str
    found: dict[str, Any] | str
    try:
        report = launch(module, Launch(entry, grid, block, passed, device=device, **{"observe": True, **more}))
        found = asdict(report)
        # Those of the interpreter, which generated code has none of.
        del found["steps"]
    except LimitExceeded as error:
        report, found = str(error), f"{error.kind} {error.line} {error}"
    buffers = [buffer for buffer, a in zip(passed, arguments, strict=True) if isinstance(a, np.ndarray | Bytes)]
    return report, (found, [b.read(np.uint8).tobytes() for b in buffers], [b.written().tolist() for b in buffers])
