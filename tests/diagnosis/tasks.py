"""What small kernels have to do, and the diagnosis of one that does it wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from grader.diagnosis.first_wrong import WrongCase, diagnose
from grader.lab.compare import Array
from grader.lab.expected import dependence
from grader.lab.records import Tolerance
from grader.launching.backend import BufferArgument, Code, LaunchRequest, ScalarArgument
from grader.launching.emulator import Emulator
from grader.measured import Diagnosis
from grader.ptx.frontend.parser import parse
from grader.words import told
from tests.ptx.nvrtc import compile_ptx

Arrays = Mapping[str, Array]


@dataclass(frozen=True)
class Task:
    """What a kernel had to do, and on what."""

    oracle: Callable[[Arrays], Array]
    inputs: Arrays
    other: Arrays
    sizes: Mapping[str, int]
    tile: tuple[int, ...]
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    dims: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    tolerance: Tolerance = field(default_factory=Tolerance)
    axes: int = 2


def diagnosis(source: str, task: Task) -> Diagnosis | None:
    """Run the only kernel of a source with the inputs, `out` and the sizes; None when its output is right."""
    ptx = compile_ptx(source)
    expected = task.oracle(task.inputs)
    arguments: list[BufferArgument | ScalarArgument] = [
        *(BufferArgument(n, a.shape, str(a.dtype), a, is_output=False) for n, a in task.inputs.items()),
        BufferArgument("out", expected.shape, str(expected.dtype), None, is_output=True),
        *(ScalarArgument(value, "int32") for value in task.sizes.values()),
    ]
    entry = parse(ptx).entries()[0]
    outcome = Emulator().run(
        Code("x", ptx), LaunchRequest(entry, task.grid, task.block, 0, arguments, observe=True, trace=True)
    )
    assert outcome.status == "ok"
    case = WrongCase(
        task.sizes,
        "out",
        outcome.outputs["out"],
        expected,
        task.tolerance,
        task.inputs,
        task.tile,
        outcome.trace,
        task.dims,
        lambda index: dependence(lambda inputs: task.oracle(inputs)[index], task.inputs, task.other),
        task.axes,
        outcome.hazards,
    )
    try:
        return told(diagnose(case))
    except ValueError:
        return None


def transposition(rows: int, cols: int, block: tuple[int, int, int] = (8, 8, 1), width: int = 9) -> Task:
    def draw(start: int) -> Arrays:
        return {"in": np.arange(start, start + rows * cols, dtype=np.float32).reshape(rows, cols)}

    return Task(
        oracle=lambda inputs: np.ascontiguousarray(inputs["in"].T),
        inputs=draw(1),
        other=draw(5001),
        sizes={"rows": rows, "cols": cols},
        tile=(8, 8),
        grid=(-(-cols // 8), -(-rows // 8), 1),
        block=block,
        dims={"tile": (8, width)},
    )


def product(n: int) -> Task:
    rng = np.random.default_rng(1)

    def draw() -> Arrays:
        return {"a": rng.random((n, n)).astype(np.float32), "b": rng.random((n, n)).astype(np.float32)}

    return Task(
        oracle=lambda inputs: inputs["a"].astype(np.float64) @ inputs["b"].astype(np.float64),
        inputs=draw(),
        other=draw(),
        sizes={"n": n},
        tile=(8, 8),
        grid=(n // 8, n // 8, 1),
        block=(8, 8, 1),
        dims={"p": (8, 8), "q": (8, 8)},
        tolerance=Tolerance(1e-4, 1e-4),
    )


def mean(n: int) -> Task:
    """Of five neighbours; the first and last two are copied."""

    def oracle(inputs: Arrays) -> Array:
        result = inputs["in"].copy()
        given: Any = inputs["in"]
        result[2:-2] = sum(given[2 + d : n - 2 + d] for d in range(-2, 3)) / 5
        return result

    rng = np.random.default_rng(2)
    return Task(
        oracle=oracle,
        inputs={"in": rng.random(n).astype(np.float32)},
        other={"in": rng.random(n).astype(np.float32)},
        sizes={"n": n},
        tile=(16,),
        grid=(n // 16, 1, 1),
        block=(16, 1, 1),
        dims={"t": (20,)},
        tolerance=Tolerance(0.001),
        axes=1,
    )
