"""What a lab asks for in terms of time: work at a size, the files it hangs on, the measure of a speed-up, CPU times."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, suppress

import numpy as np

from grader.lab import formula
from grader.lab.checks import SpeedupSettings
from grader.lab.records import Lab, Sizes
from grader.launching.arrays import shape_at
from grader.oracle.expected import Oracle
from grader.timing import cpu, lock
from grader.timing.records import CpuTime, Measurement
from grader.timing.store import Store, key_of
from grader.timing.summary import Work, size_key

CPU_ELEMENTS_A_SECOND = 2e7
"""What an oracle is thought to do before it has been timed at any size: a low guess."""
CPU_LIMIT_S = 1.0
"""Sizes that would keep the CPU busy for longer are left out."""
CPU_GROWTH = 1.5
"""From one size to the next, how much slower an element may become: larger arrays leave the caches."""


def baseline_of(lab: Lab, variant: str) -> tuple[str, float | None]:
    """The variant whose reference `variant` is measured by, and the speed-up that earns all points (None: unmarked)."""
    settings = next(v for v in lab.variants if v.name == variant).settings_of(SpeedupSettings)
    return (variant, None) if settings is None else (settings.against, settings.minimum)


def lab_files(lab: Lab) -> dict[str, bytes]:
    """Every file that decides what is measured, by name."""
    paths = [lab.path, lab.oracle, *(v.reference.file for v in lab.variants)]
    return {path.name: path.read_bytes() for path in paths}


def work_at(lab: Lab, sizes: Sizes) -> Work:
    """What has to be done at a size: by the lab's formulas, else every array moved once."""
    rule = lab.timing
    moved = sum(
        float(np.prod(shape_at(lab, p.name, sizes))) * np.dtype(p.dtype).itemsize
        for p in lab.parameters
        if p.kind != "size"
    )
    if rule is not None and rule.traffic:
        moved = float(formula.evaluate(rule.traffic, sizes))
    operations = float(formula.evaluate(rule.flops, sizes)) if rule is not None and rule.flops else None
    return Work(moved, operations)


def cpu_times_of(lab: Lab, oracle: Oracle, sizes: list[Sizes], store: Store) -> list[CpuTime]:
    """The oracle's times at those of `sizes` that do not take it long; measured once on a machine, then kept."""
    unique = {size_key(s): s for s in sizes}
    key = key_of({}, f"cpu {sorted(unique)}", lab_files(lab), f"numpy {np.__version__}", cpu.model(), "")
    known = store.get(key)
    if known is not None:
        return known.cpu
    with ExitStack() as stack:
        # The gradings of a group come here at the same time: one measures, undisturbed by the others, who then find it.
        # Where that cannot be arranged, each measures for itself.
        with suppress(lock.Busy, OSError):
            stack.enter_context(lock.exclusive("cpu"))
        known = store.get(key)
        if known is not None:
            return known.cpu
        times = _measured(lab, oracle, list(unique.values()))
        blank = Measurement(device="", driver="", nvrtc="", l2="", copy_gb_s=0.0, fp32_gflop_s=0.0, sizes=[], cpu=times)
        store.put(key, blank)
    return times


def _measured(lab: Lab, oracle: Oracle, sizes: list[Sizes]) -> list[CpuTime]:
    times: list[CpuTime] = []
    a_second = CPU_ELEMENTS_A_SECOND
    for size in sorted(sizes, key=lambda sizes: oracle_work(lab, sizes)):
        work = oracle_work(lab, size)
        if work / a_second > CPU_LIMIT_S:
            break
        times.append(cpu.time_cpu(_oracle_run(lab, oracle, size), dict(size)))
        a_second = work / times[-1].best_us * 1e6 / CPU_GROWTH
    return times


def oracle_work(lab: Lab, sizes: Sizes) -> float:
    """A rough size of what the oracle has to do: elements, or operations over what BLAS does with one element."""
    work = work_at(lab, sizes)
    elements = work.traffic_bytes / 4
    return elements if work.operations is None else max(elements, work.operations / 1000)


def _oracle_run(lab: Lab, oracle: Oracle, sizes: Sizes) -> Callable[[], object]:
    """The oracle's work at some sizes, on the values that it has at the observed size, over and over."""
    types = {p.name: p.dtype for p in lab.parameters if p.kind != "size"}
    few, _expected = oracle.case(lab.cases["emulator"].observe, types)
    inputs = {name: np.resize(values, shape_at(lab, name, sizes)) for name, values in few.items()}
    output = next(p.name for p in lab.parameters if p.kind == "output")
    return lambda: oracle.expected(inputs, sizes, output)
