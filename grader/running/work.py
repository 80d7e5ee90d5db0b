"""What kernels did in the runs that a variant was graded by: launches as they were made, and what was executed in them.

A bare kernel has one launch, the grader's; a function has those that it made, and what it had the device do beside
them.  Only labs with a check that asks for it have any of this counted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from grader.lab.records import Lab, Sizes
from grader.launching.geometry import shape_at
from grader.launching.kernel import BoundKernel
from grader.launching.trial import Run
from grader.programs.records import LIBRARY, CallSeen, DeviceCall
from grader.ptx.records import Counters, LineCounter, LineWork
from grader.result import CaseKind
from grader.submission.lexical import without_comments


@dataclass(frozen=True, slots=True)
class LaunchWork:
    """One launch: what was launched, how, and what was executed in it by line.

    file: that the kernel's lines are in.  symbol: its name in PTX; "" where it was not compiled with a name.
    shared_bytes: of a block, static and dynamic.  is_of_library: Thrust or CUB made it.
    atomics: what was counted of its atomic operations.
    """

    kernel: str
    file: str
    symbol: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    lines: tuple[LineWork, ...]
    atomics: tuple[LineCounter, ...] = ()
    is_of_library: bool = False


@dataclass(frozen=True, slots=True)
class Work:
    """One run at some sizes that came to its end: of a function, its first call.

    elements: of the largest array.  drawn: whether the sizes were.
    asked: what was asked of the device, in order; None where the grader made the launch.
    """

    kind: CaseKind
    sizes: Sizes
    elements: int
    launches: tuple[LaunchWork, ...]
    asked: tuple[DeviceCall, ...] | None = None
    drawn: bool = False

    def by_line(self) -> list[tuple[str, LineWork]]:
        """What was executed of the program's own code by file and line, all launches together, in that order."""
        rows: dict[tuple[str, int], LineWork] = {}
        for launch in self.launches:
            for row in launch.lines:
                at = (row.file or launch.file, row.line)
                if at[0] == LIBRARY:
                    continue
                known = rows.get(at)
                uses = dict(known.uses) if known is not None else {}
                for name, times in row.uses.items():
                    uses[name] = uses.get(name, 0) + times
                rows[at] = LineWork(
                    row.line,
                    row.instructions + (known.instructions if known is not None else 0),
                    row.executed + (known.executed if known is not None else 0),
                    row.places + (known.places if known is not None else 0),
                    row.additions + (known.additions if known is not None else 0),
                    uses,
                )
        return [(file, rows[file, line]) for file, line in sorted(rows)]

    def total(self, of: str) -> int:
        """Sum of a field of `LineWork` over all launches, a library's, too."""
        return sum(getattr(row, of) for launch in self.launches for row in launch.lines)


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Of the launch that does the most, on one device.

    file, line: where it is launched, or the kernel.  threads, shared_bytes: of a block.  registers: of a thread.
    blocks: that fit on a multiprocessor.  limit: what keeps more from fitting: "threads", "blocks", "shared" or
    "registers".  share: of the warps that a multiprocessor can hold.
    """

    device: str
    kernel: str
    file: str
    line: int
    threads: int
    registers: int
    shared_bytes: int
    blocks: int
    limit: str
    share: float


@dataclass(frozen=True, slots=True)
class Reordered:
    """Runs of the same data in which blocks, and the warps of a block, had their turns in other orders.

    sizes: at which.  orders: how many gave an output.
    differs: an array, the index of its first element that has other bits, slowest axis first, and both its values, in
    the usual order and in the other one; None where all bits are the same.  elements: how many have other bits.
    """

    sizes: Sizes
    orders: int = 0
    differs: tuple[str, tuple[int, ...], float, float] | None = None
    elements: int = 0


def work_of_kernel(kernel: BoundKernel, runs: Sequence[Run]) -> tuple[Work, ...]:
    """Of those runs of a bare kernel in which it was counted."""
    found = []
    for run in runs:
        if run.outcome.status != "ok" or not run.outcome.work:
            continue
        at = kernel.geometry(run.sizes)
        name = kernel.binding.kernel
        launch = LaunchWork(
            name.name,
            name.file,
            "",
            at.grid,
            at.block,
            run.outcome.shared_bytes,
            tuple(run.outcome.work),
            _atomics(run.outcome.counters),
        )
        found.append(Work(run.kind, run.sizes, elements_of(kernel.lab, run.sizes), (launch,), drawn=run.drawn))
    return tuple(found)


_INCLUDES = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"](?:thrust|cub)/", re.M)
_CALLS = re.compile(r"(?:thrust|cub)\s*::\s*((?:\w+\s*::\s*)*(?!\w+_cast\b|make_)\w+)\s*\(")


def library_at(texts: Mapping[str, str]) -> tuple[str, int] | None:
    """The line in which Thrust or CUB is called, where one function of theirs is; else that of the first header of
    theirs; None where there is neither.

    texts: by file.  What their calls launch comes from their headers, so no run shows the line.
    """
    plain = {file: without_comments(text) for file, text in texts.items()}
    calls = [(file, found) for file, text in plain.items() for found in _CALLS.finditer(text)]
    includes = ((file, found) for file, text in plain.items() for found in _INCLUDES.finditer(text))
    is_one = len({"".join(found[1].split()) for _file, found in calls}) == 1
    at = calls[0] if is_one else next(includes, None)
    return (at[0], plain[at[0]].count("\n", 0, at[1].start()) + 1) if at is not None else None


def work_of_call(lab: Lab, run: Run, call: CallSeen) -> Work:
    """Of the first call of a function in a run that came to its end."""
    launches = tuple(
        LaunchWork(
            seen.kernel,
            seen.file,
            seen.symbol,
            seen.grid,
            seen.block,
            seen.shared_bytes,
            tuple(seen.work),
            _atomics(seen.counters),
            seen.is_of_library,
        )
        for seen in call.launches
    )
    return Work(run.kind, run.sizes, elements_of(lab, run.sizes), launches, tuple(call.asked), run.drawn)


def _atomics(counters: Counters | None) -> tuple[LineCounter, ...]:
    return tuple(c for c in counters.by_line if c.op == "atomic") if counters is not None else ()


def elements_of(lab: Lab, sizes: Sizes) -> int:
    """Of the largest array that is read or wanted: what work and atomic operations are set against."""
    return max(prod(shape_at(lab, p.name, sizes)) for p in lab.parameters if p.is_input or p.is_output)
