"""The labs' `best` kernels beside what the device can do: a copy of the same bytes, cuBLAS's float32 product.

    python benchmarks/references.py [--rounds 21] [--out benchmarks/references.md]

Needs an NVIDIA GPU and CuPy.  In each round every contender runs once, the L2 cache overwritten before each launch, so
that slow drifts of the clock meet all of them alike; medians are shown.  cuBLAS computes in float32 without tensor
cores (no TF32).  Every kernel's result is compared with one computed in double precision first.  Exit code 1 when a
result is wrong or a `best` kernel misses its target.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Decides how CuPy asks cuBLAS to compute; read when CuPy is imported.
os.environ["CUPY_TF32"] = "0"

import cupy as cp
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from grader.lab import labs
from grader.lab.records import Lab, ReferenceKernel, Sizes

Arrays = Mapping[str, Any]
Launch = Callable[[], None]

L2_BYTES = 256 << 20
"""Written before each launch: several times any L2 cache."""


HEAD = """\
# Reference kernels on a GPU

What `python benchmarks/references.py --out benchmarks/references.md` measured: each lab's `best` kernel beside the
fastest that the device can do for the same bytes or the same product, in one run, the contenders taking turns. Every
result was compared with double precision first.
"""


@dataclass(frozen=True)
class Race:
    """One line of the table: a lab at a size, and the share of the comparison's speed that `best` is to reach."""

    lab: str
    sizes: Sizes
    target: float


RACES = (
    Race("transpose", {"rows": 4096, "cols": 4096}, 0.97),
    Race("transpose", {"rows": 8192, "cols": 8192}, 0.97),
    Race("transpose", {"rows": 16384, "cols": 16384}, 0.97),
    Race("transpose", {"rows": 32768, "cols": 32768}, 0.97),
    Race("matmul", {"n": 1024}, 0.85),
    Race("matmul", {"n": 2048}, 0.9),
    Race("matmul", {"n": 4096}, 0.97),
    Race("batch-square", {"n": 2, "count": 1_000_000}, 0.9),
    Race("batch-square", {"n": 4, "count": 1_000_000}, 0.97),
    Race("batch-square", {"n": 5, "count": 1_000_000}, 0.97),
    Race("batch-square", {"n": 8, "count": 1_000_000}, 0.97),
    Race("batch-square", {"n": 10, "count": 1_000_000}, 0.97),
    Race("box-blur", {"count": 16 << 20, "radius": 2}, 0.97),
    Race("box-blur", {"count": 64 << 20, "radius": 2}, 0.97),
)


def expected(lab: str, arrays: Arrays, sizes: Sizes) -> tuple[str, Any]:
    """The output's name and what it must hold, in double precision where the lab computes."""
    if lab == "transpose":
        return "out", arrays["in"].T
    if lab == "matmul":
        return "c", arrays["a"].astype(cp.float64) @ arrays["b"].astype(cp.float64)
    exact = arrays["in"].astype(cp.float64)
    if lab == "batch-square":
        return "out", exact @ exact
    radius, count = sizes["radius"], sizes["count"]
    mean = exact.copy()
    mean[radius:-radius] = sum(exact[k : count - 2 * radius + k] for k in range(2 * radius + 1)) / (2 * radius + 1)
    return "out", mean


def made(lab: Lab, sizes: Sizes) -> dict[str, Any]:
    """Every array of the lab, the inputs random."""
    arrays = {}
    for parameter in lab.parameters:
        if parameter.is_array:
            shape = tuple(sizes[n] if isinstance(n, str) else n for n in parameter.shape)
            # Filled in pieces: a random array of doubles may not fit beside the rest.
            arrays[parameter.name] = cp.random.random(shape, dtype=cp.float32)
    return arrays


def launcher(lab: Lab, kernel: ReferenceKernel, covers: Sequence[str], arrays: Arrays, sizes: Sizes) -> Launch:
    """A function that launches a reference kernel."""
    expression = kernel.expression(sizes)
    module = cp.RawModule(code=kernel.file.read_text("utf-8"), options=("--std=c++17",), name_expressions=[expression])
    function = module.get_function(expression)
    shared_bytes = kernel.shared_bytes_at(sizes)
    if shared_bytes > 48 * 1024:
        function.max_dynamic_shared_size_bytes = shared_bytes
    grid = tuple(-(-sizes[name] // tile) for name, tile in zip(covers, kernel.tile, strict=True))
    arguments = tuple(arrays[role] if role in arrays else np.int32(sizes[role]) for role in kernel.arguments)
    return lambda: function(grid, kernel.block, arguments, shared_mem=shared_bytes)


def contenders(lab: Lab, arrays: dict[str, Any], sizes: Sizes) -> dict[str, Launch]:
    """The comparison first, then `best`, then the teaching kernels of the variants."""
    found: dict[str, Launch] = {}
    if lab.id == "matmul":
        found["cuBLAS"] = lambda: cp.matmul(arrays["a"], arrays["b"], out=arrays["c"])
    else:
        to, source = arrays["out"].data.ptr, arrays["in"].data.ptr
        device_to_device = 3
        found["copy"] = lambda: cp.cuda.runtime.memcpyAsync(
            to, source, arrays["in"].nbytes, device_to_device, cp.cuda.get_current_stream().ptr
        )
    best = next(kernel for kernel in lab.best if kernel.fits(sizes))
    found["best"] = launcher(lab, best, best.covers or lab.launch.covers, arrays, sizes)
    for variant in lab.variants:
        covers = lab.launch_of(variant).covers
        found[variant.name] = launcher(lab, variant.reference, covers, arrays, sizes)
    return found


def check(lab: Lab, run: dict[str, Launch], arrays: dict[str, Any], sizes: Sizes) -> list[str]:
    """Contenders whose result is wrong."""
    name, right = expected(lab.id, arrays, sizes)
    tolerance = lab.tolerance.at(sizes, "float32")
    wrong = []
    for contender, launch in run.items():
        if contender == "copy":
            continue
        arrays[name].fill(cp.nan)
        launch()
        error = float(cp.abs(arrays[name] - right).max())
        # A NaN, an element that nobody wrote, is not below anything.
        if not error <= tolerance.absolute:
            wrong.append(f"{lab.id} {dict(sizes)}: {contender} is off by {error:g}")
    return wrong


def timed(run: dict[str, Launch], rounds: int) -> dict[str, float]:
    """Median time of a launch, µs."""
    flush = cp.empty(L2_BYTES, dtype=cp.uint8)
    start, stop = cp.cuda.Event(), cp.cuda.Event()
    times: dict[str, list[float]] = {name: [] for name in run}
    for index in range(rounds + 2):
        for name, launch in run.items():
            flush.fill(index % 251)
            start.record()
            launch()
            stop.record()
            stop.synchronize()
            if index >= 2:
                times[name].append(1e3 * cp.cuda.get_elapsed_time(start, stop))
    return {name: statistics.median(values) for name, values in times.items()}


def rate(lab: Lab, arrays: Arrays, sizes: Sizes, time_us: float) -> str:
    """GB/s or TFLOP/s."""
    if lab.id == "matmul":
        return f"{2 * sizes['n'] ** 3 / time_us / 1e6:.1f} TFLOP/s"
    return f"{sum(a.nbytes for a in arrays.values()) / time_us / 1e3:.0f} GB/s"


def kept(file: Path) -> str:
    """What stands in an earlier table's file from its first section on: what people wrote about it."""
    earlier = file.read_text(encoding="utf-8") if file.is_file() else ""
    section = earlier.find("\n## ")
    return earlier[section:] if section >= 0 else ""


def main() -> int:
    """Measure, print the table, write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    properties = cp.cuda.runtime.getDeviceProperties(0)
    driver, runtime = cp.cuda.runtime.driverGetVersion(), cp.cuda.runtime.runtimeGetVersion()
    lines = [
        f"{properties['name'].decode()}, driver for CUDA {driver // 1000}.{driver % 1000 // 10}, "
        f"CUDA {runtime // 1000}.{runtime % 1000 // 10}, median of {options.rounds} launches, the L2 cache overwritten "
        "before each.",
        "",
        "| lab | size | compared with | its time, µs | best, µs | best's rate | best / compared | target | "
        "teaching kernels, µs |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    problems = []
    for race in RACES:
        lab = labs.find(race.lab)
        arrays = made(lab, race.sizes)
        run = contenders(lab, arrays, race.sizes)
        problems += check(lab, run, arrays, race.sizes)
        times = timed(run, options.rounds)
        against = next(iter(run))
        share = times[against] / times["best"]
        if share < race.target:
            problems.append(f"{race.lab} {dict(race.sizes)}: {share:.3f} of {against}, {race.target} is asked")
        size = ", ".join(f"{name} {value}" for name, value in race.sizes.items())
        teaching = ", ".join(f"{name} {times[name]:.1f}" for name in run if name not in (against, "best"))
        lines.append(
            f"| {race.lab} | {size} | {against} | {times[against]:.1f} | {times['best']:.1f} | "
            f"{rate(lab, arrays, race.sizes, times['best'])} | {share:.3f} | {race.target or '–'} | {teaching} |"
        )
        print(lines[-1], flush=True)
        del arrays, run
        cp.get_default_memory_pool().free_all_blocks()
    text = "\n".join(lines) + "\n"
    print(text)
    if options.out:
        options.out.write_text(f"{HEAD}\n{text}{kept(options.out)}", encoding="utf-8")
    for problem in problems:
        print("!", problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
