"""Explains a wrong output: finds the smallest size that goes wrong, runs it once more with its history kept; of a
function or a program, which of its kernels may be at fault.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import TypeVar

import numpy as np
from msgspec import structs

from grader.diagnosis.first_wrong import WrongCase, diagnose
from grader.errors import FileError
from grader.lab.compare import Index, Mask, wrong_elements
from grader.lab.expected import Oracle, dependence
from grader.lab.records import Sizes
from grader.launching.kernel import BoundKernel, SizeRules, shape_at, tile_of_output
from grader.launching.trial import Run, Trials
from grader.measured import Diagnosis
from grader.programs.records import Observation, ProgramFinding
from grader.result import CaseKind
from grader.running.evidence import OneBlock

MAX_TRIES = 8
"""Sizes that are run in search of the smallest wrong one."""
MAX_TRACED = 128 * 128
"""Elements of an output, above which nothing is explained."""
MAX_EXPLAINED = 512 * 512
"""The same for what is told of the output alone, without the launch's history."""
MULTIPLES = (1, 2, 4)
COMBINE = ("atomic", "cooperative_groups", "__threadfence", "cub::", "thrust::")
"""What stands in kernels whose blocks work on one result together."""
FINE = (4, 8, 16)
"""Exact sizes for grids with a block for every row or the like."""

T = TypeVar("T")


def explain(trials: Trials, kernel: BoundKernel, runs: Iterable[Run]) -> dict[str, Diagnosis]:
    """Why outputs are wrong: under "correct" for sizes that fit the tile, else under "ragged" for those that do not.

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
    """What `attempt` gives for the first of the sizes for which it gives something."""
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
    """The diagnosis at these sizes; None when the output is right there, or there is none."""
    if _largest_output(kernel, sizes) > MAX_TRACED:
        return None
    try:
        run = trials.run(kernel, "correct", sizes, observe=True, trace=True)
    except FileError:
        # The lab does not go that small.
        return None
    return _diagnosis(trials.oracle, kernel, run, trials) if run.outcome.status == "ok" else None


def untraced(oracle: Oracle, kernel: BoundKernel, run: Run) -> Diagnosis | None:
    """What a run's output tells by itself: which elements are wrong, and by what rule; None of a large one."""
    return _diagnosis(oracle, kernel, run) if _largest_output(kernel, run.sizes) <= MAX_EXPLAINED else None


def _largest_output(kernel: BoundKernel, sizes: Sizes) -> int:
    return max(prod(shape_at(kernel.lab, p.name, sizes)) for p in kernel.lab.parameters if p.is_output)


def _diagnosis(oracle: Oracle, kernel: BoundKernel, run: Run, trials: Trials | None = None) -> Diagnosis | None:
    """The diagnosis of the first output that is wrong; trials: where the kernel can be run with other inputs."""
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
    """Whether a kernel stores another value in an output element, with other values in some elements of its inputs."""
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
    """Which elements of each input an element of an output depends on; None where that cannot be told."""
    inputs, _expected = oracle.case(sizes, dtypes)

    def evaluate(changed: Mapping[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]]) -> np.generic:
        value: np.generic = oracle.expected(changed, sizes, output)[index]
        return value

    try:
        return dependence(evaluate, inputs, oracle.other_inputs(sizes, dtypes))
    except Exception:
        # Mixed inputs may break a rule that the lab's own inputs keep: then this cannot be told.
        return None


def suspects(shown: Sequence[tuple[Run, Observation]]) -> frozenset[str]:
    """Plain names of the kernels that were launched in every wrong run and in no right one; else in the wrong ones."""
    wrong: list[set[str]] = []
    right: set[str] = set()
    for run, observation in shown:
        names = {launch.kernel.partition("<")[0] for call in observation.calls for launch in call.launches}
        if run.outcome.status == "ok" and run.is_right:
            right |= names
        else:
            wrong.append(names)
    common = set.intersection(*wrong) if wrong else set()
    return frozenset(common - right or common)


def is_one_launch(shown: Sequence[tuple[Run, Observation]]) -> bool:
    """Whether every call of the wrong runs makes one launch: no order of launches, and nothing between, is wrong."""
    calls = [c for run, seen in shown if not run.is_right for c in seen.calls if c.launches or c.has_returned]
    return bool(calls) and all(len(call.launches) == 1 for call in calls)


def uncombined_blocks(shown: Sequence[tuple[Run, Observation]], device_text: str) -> int:
    """Of a call that is to give one number by one launch, and is right just where that has one block: how many there
    are where it is wrong first.  0 of any other, and where something in the kernels may combine what blocks make."""
    if any(word in device_text for word in COMBINE):
        return 0
    blocks: dict[bool, list[int]] = {True: [], False: []}
    for run, observation in shown:
        if run.outcome.status != "ok" or (run.difference is not None and run.difference.total != 1):
            return 0
        for call in observation.calls:
            if len(call.launches) != 1 or call.launches[0].hazards:
                return 0
            blocks[run.is_right].append(prod(call.launches[0].grid))
    is_so = all(n == 1 for n in blocks[True]) and all(n > 1 for n in blocks[False])
    return blocks[False][0] if is_so and all(blocks.values()) else 0


def one_block(shown: Sequence[tuple[Run, Observation]]) -> OneBlock | None:
    """Of calls that are wrong just where a launch of one block is given a number that is more than its threads: that
    launch in the first of them."""
    more: dict[bool, list[dict[tuple[str, str, int, str], OneBlock]]] = {True: [], False: []}
    within: set[tuple[str, str, int, str]] = set()
    for run, observation in shown:
        beyond = {}
        for launch in observation.launches:
            threads = prod(launch.block)
            for given in launch.arguments if launch.grid == (1, 1, 1) else ():
                if not isinstance(given.value, int) or given.value <= 1:
                    continue
                place = (launch.kernel, launch.file, launch.line, given.name)
                if given.value > threads:
                    beyond[place] = OneBlock(*place, given.value, threads)
                else:
                    within.add(place)
        more[run.outcome.status == "ok" and run.is_right].append(beyond)
    if not more[True] or not more[False] or any(run.outcome.hazards for run, _observation in shown):
        return None
    wrong = set.intersection(*(set(beyond) for beyond in more[False]))
    wrong -= {place for beyond in more[True] for place in beyond}
    return next((more[False][0][place] for place in sorted(wrong & within)), None)


def not_brought(shown: Iterable[tuple[Run, Observation]]) -> Iterator[ProgramFinding]:
    """Copies to the host that leave out just what is lacking in a wrong output."""
    for run, observation in shown:
        difference = run.difference
        if difference is None or not difference.unwritten:
            continue
        for finding in observation.findings:
            of_output = [len(call.outputs.get(difference.name, b"")) for call in observation.calls[:1]]
            if finding.kind == "copied_back" and of_output:
                lacking = difference.unwritten * (of_output[0] // difference.total)
                if of_output[0] - lacking == finding.message.data["bytes"]:
                    yield structs.replace(finding, kind="copy_size")
