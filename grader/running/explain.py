"""Explains a wrong output: finds the smallest size that goes wrong and runs it once more with its history kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import product
from math import prod
from typing import TypeVar

import numpy as np

from grader.diagnosis.first_wrong import WrongCase, diagnose
from grader.errors import FileError
from grader.lab.compare import Index, Mask, wrong_elements
from grader.lab.expected import Oracle, dependence
from grader.lab.records import Sizes
from grader.launching.kernel import BoundKernel, SizeRules, shape_at, tile_of_output
from grader.launching.trial import Run, Trials
from grader.measured import Diagnosis
from grader.result import CaseKind

MAX_TRIES = 8
"""Sizes that are run in search of the smallest wrong one."""
MAX_TRACED = 128 * 128
"""Elements of an output, above which nothing is explained."""
MAX_EXPLAINED = 512 * 512
"""The same for what is told of the output alone, without the launch's history."""
MULTIPLES = (1, 2, 4)
FINE = (4, 8, 16)
"""Exact sizes for grids with a block for every row or the like."""

T = TypeVar("T")


def explain(trials: Trials, kernel: BoundKernel, runs: Iterable[Run]) -> dict[str, Diagnosis]:
    """Return why outputs are wrong: under "correct" at sizes that fit the tile, else under "ragged" at others.

    trials : on a backend that can trace, whatever the runs were made on.
    """

    def attempt(sizes: Sizes) -> Diagnosis | None:
        return _attempt(trials, kernel, sizes)

    wrong = [run for run in runs if run.difference is not None and run.difference.mismatches]
    kinds: tuple[tuple[str, tuple[CaseKind, ...]], ...] = (("correct", ("correct", "observe")), ("ragged", ("ragged",)))
    for name, members in kinds:
        failed = [run.sizes for run in wrong if run.kind in members]
        if failed:
            diagnosis = first_wrong(small_sizes(kernel.sizes, failed, exact=name == "correct"), attempt)
            if diagnosis is None:
                smallest = min((r for r in wrong if r.kind in members), key=lambda run: _elements(run.sizes))
                diagnosis = untraced(trials.oracle, kernel, smallest)
            return {name: diagnosis} if diagnosis is not None else {}
    return {}


def first_wrong(interpretations: Iterable[Sizes], attempt: Callable[[Sizes], T | None]) -> T | None:
    """Return the first result of `attempt` that is not None, in the order of the sizes."""
    return next((wrong for sizes in interpretations if (wrong := attempt(sizes)) is not None), None)


def small_sizes(rules: SizeRules, failed: list[Sizes], exact: bool) -> list[Sizes]:
    """Sizes to look for a fault at, smallest first, the smallest that is known to fail last.

    Exact ones are a few tiles along each axis that the grid covers; others lie below and above the tile.  Sizes that
    the grid does not cover stay as they are, and all do where another size means another compilation.
    """
    smallest, interpretation = min(failed, key=_elements), rules.interpretation
    if interpretation.constants or interpretation.template:
        return [smallest]
    tiles: dict[str, int] = {}
    for covered, tile in zip(interpretation.launch.covers, interpretation.launch.tile, strict=False):
        # A grid that covers a product of sizes has no tile of its own along each.
        tiles |= dict.fromkeys(covered.split("*"), interpretation.launch.block[0] if "*" in covered else tile)
    choices = [
        _exact(t) if exact else [n for n in (3, 5, t - 1, t + 1, 2 * t + 1) if n > 1 and n % t] for t in tiles.values()
    ]
    grown: list[Sizes] = []
    for values in product(*choices):
        sizes: Sizes = {**smallest, **dict(zip(tiles, values, strict=True))}
        if not rules.fits(sizes) or any(sizes[name] != value for name, value in interpretation.pinned):
            continue
        if exact:
            sizes = rules.rounded(sizes)
        if sizes not in grown and _elements(sizes) < _elements(smallest):
            grown.append(sizes)
    # Rectangles before squares of the same size, so that exchanged axes show.
    grown.sort(key=lambda sizes: (_elements(sizes), len(set(sizes.values())) == 1))
    return [*grown[: MAX_TRIES - 1], smallest]


def _exact(tile: int) -> list[int]:
    return [tile * m for m in MULTIPLES] if tile > 1 else list(FINE)


def _elements(sizes: Sizes) -> int:
    return prod(sizes.values())


def _attempt(trials: Trials, kernel: BoundKernel, sizes: Sizes) -> Diagnosis | None:
    if _largest_output(kernel, sizes) > MAX_TRACED:
        return None
    try:
        run = trials.run(kernel, "correct", sizes, observe=True, trace=True)
    except FileError:
        # The lab does not go that small.
        return None
    return _diagnosis(trials.oracle, kernel, run, trials) if run.outcome.status == "ok" else None


def untraced(oracle: Oracle, kernel: BoundKernel, run: Run) -> Diagnosis | None:
    """Return what a run's output shows by itself: its wrong elements and their rule; None of a large one."""
    return _diagnosis(oracle, kernel, run) if _largest_output(kernel, run.sizes) <= MAX_EXPLAINED else None


def _largest_output(kernel: BoundKernel, sizes: Sizes) -> int:
    return max(prod(shape_at(kernel.lab, p.name, sizes)) for p in kernel.lab.parameters if p.is_output)


def _diagnosis(oracle: Oracle, kernel: BoundKernel, run: Run, trials: Trials | None = None) -> Diagnosis | None:
    """Return the diagnosis of the first wrong output; trials: where the kernel can be run with other inputs."""
    lab, sizes, outcome = kernel.lab, run.sizes, run.outcome
    inputs, expected = oracle.case(sizes, kernel.dtypes)
    launch = kernel.geometry(sizes)
    for name, right in expected.items():
        got = outcome.outputs.get(name)
        tolerance = lab.tolerance.at(sizes, str(right.dtype))
        if got is None or not wrong_elements(got, right, tolerance).any():
            continue
        numbered = [axis for axis in range(3) if launch.grid[axis] > 1 or launch.block[axis] > 1]

        def needed(index: Index, output: str = name) -> Mapping[str, Mask] | None:
            return needs(oracle, sizes, kernel.dtypes, output, index)

        def depends(index: Index, changed: Mapping[str, Mask], output: str = name) -> bool:
            return trials is None or _depends(trials, kernel, run, output, index, changed)

        arrays = kernel.binding.kernel.shared_arrays
        case = WrongCase(
            sizes,
            name,
            got,
            right,
            tolerance,
            inputs,
            tile_of_output(lab, name, kernel.interpretation.launch),
            outcome.trace,
            {a.name: [d for d in a.dims if d is not None] for a in arrays if all(a.dims)},
            needed,
            max(numbered, default=0) + 1,
            outcome.hazards,
            depends if trials is not None else None,
            element_bytes={a.name: a.element_bytes for a in arrays if a.element_bytes},
        )
        return diagnose(case)
    return None


def _depends(
    trials: Trials, kernel: BoundKernel, run: Run, output: str, index: Index, changed: Mapping[str, Mask]
) -> bool:
    """Whether a kernel stores another value in an output element when some elements of its inputs are changed."""
    inputs, expected = trials.oracle.case(run.sizes, kernel.dtypes)
    others = trials.oracle.other_inputs(run.sizes, kernel.dtypes)
    mixed = {n: np.where(changed[n], others[n], array) if n in changed else array for n, array in inputs.items()}
    loaded = kernel.load(trials.programs, run.sizes)
    if loaded.entry is None:
        return False
    launch = kernel.launch(loaded, run.sizes, mixed, expected)
    got = trials.backend.run(loaded.built.code, launch).outputs.get(output)
    return got is not None and got[index].tobytes() != run.outcome.outputs[output][index].tobytes()


def needs(
    oracle: Oracle, sizes: Sizes, dtypes: Mapping[str, str], output: str, index: Index
) -> Mapping[str, Mask] | None:
    """Return which elements of each input an output's element depends on; None where that cannot be found."""
    inputs, _expected = oracle.case(sizes, dtypes)

    def evaluate(changed: Mapping[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]]) -> np.generic:
        value: np.generic = oracle.expected(changed, sizes, output)[index]
        return value

    try:
        return dependence(evaluate, inputs, oracle.other_inputs(sizes, dtypes))
    except Exception:
        # Mixed inputs may break a rule that the lab's own inputs keep: then this cannot be told.
        return None
