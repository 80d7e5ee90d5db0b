"""Launches made before, for grading one work again and again while it is written.

Most saves change no device code at all: the same kernel, given the same, does the same, whatever stands in comments, on
whatever lines.
"""

from __future__ import annotations

import hashlib
import itertools
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from grader.launching.backend import BufferArgument, LaunchOutcome, LaunchRequest
from grader.ptx.frontend.nodes import SourceLocation
from grader.ptx.lowering.program import Part
from grader.ptx.records import Counters

LAUNCHED_BYTES = 128 << 20
"""Of all outcomes that are kept."""
RECORD_BYTES = 400
"""What a counter or a hazard takes, about."""


@dataclass(frozen=True, slots=True)
class _Launched:
    """An outcome, and the places of its kernel's instructions."""

    places: tuple[SourceLocation, ...]
    outcome: LaunchOutcome


class RememberedLaunches:
    """Outcomes of launches in memory; those used least recently go first when all take more than `most_bytes`."""

    def __init__(self, most_bytes: int = LAUNCHED_BYTES) -> None:
        self._most_bytes = most_bytes
        self.bytes = 0
        self._kept: OrderedDict[Hashable, tuple[_Launched, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, part: Part, number: int, request: LaunchRequest) -> LaunchOutcome | None:
        """What came of a launch, told of the lines that its kernel stands on now; None where it was not made.

        number: which launch of the part's kernels it is in its grading: each has other addresses.
        """
        key = _key(part, number, request)
        launched, _size = self._kept.get(key, (None, 0))
        lines = _moved(launched.places, part.places) if launched is not None else None
        if launched is None or lines is None:
            return None
        self._kept.move_to_end(key)
        return _on_lines(launched.outcome, lines)

    def put(self, part: Part, number: int, request: LaunchRequest, outcome: LaunchOutcome) -> None:
        """Keep what came of a launch, if that is all there is to it, and let go of what was not asked for lately."""
        if not _is_repeatable(request, outcome) or not _lines_of(outcome) <= {0, *(at.line for at in part.places)}:
            return
        for array in outcome.outputs.values():
            array.flags.writeable = False
        key, size = _key(part, number, request), _bytes_of(outcome)
        self.bytes += size - self._kept.pop(key, (None, 0))[1]
        self._kept[key] = _Launched(part.places, outcome), size
        while self.bytes > self._most_bytes:
            self.bytes -= self._kept.popitem(last=False)[1][1]


def _is_repeatable(request: LaunchRequest, outcome: LaunchOutcome) -> bool:
    """Whether an outcome is plain records that follow from what was launched.

    What a clock has ended is not; nor are histories, which are long, and sentences and names with lines in them.
    """
    if request.trace or request.followed or outcome.status not in ("ok", "fault") or outcome.said is not None:
        return False
    return not any("@" in hazard.array for hazard in outcome.hazards)


def _key(part: Part, number: int, request: LaunchRequest) -> Hashable:
    return part.content, number, _content(request)


def _content(request: LaunchRequest) -> Hashable:
    """Return all of a request in a form that can be compared."""
    values: dict[str, Any] = {field.name: getattr(request, field.name) for field in fields(request)}
    values["arguments"] = tuple(_argument(argument) for argument in request.arguments)
    # A row of launches may be the same one many times.
    before = {id(earlier): earlier for earlier in request.before}
    contents = {id: _content(earlier) for id, earlier in before.items()}
    values["before"] = tuple(contents[id(earlier)] for earlier in request.before)
    return tuple(values.items())


def _argument(argument: object) -> Hashable:
    if not isinstance(argument, BufferArgument):
        # Equal numbers need not be the same: 0.0 and -0.0.
        return repr(argument)
    if argument.initial is None:
        return argument
    initial = np.ascontiguousarray(argument.initial)
    held = hashlib.blake2b(initial.view(np.uint8).reshape(-1).data, digest_size=20).digest()
    return argument.name, argument.shape, argument.dtype, str(initial.dtype), held, argument.is_output, argument.start


def _moved(before: Sequence[SourceLocation], now: Sequence[SourceLocation]) -> dict[int, int] | None:
    """Where each line has gone; None where lines have changed places, or some are one that were two.

    Whatever is told line by line, in the order of the lines, is then told the same way.
    """
    lines = {0: 0}
    if len(before) != len(now):
        return None
    for old, new in zip(before, now, strict=True):
        if old.file != new.file or lines.setdefault(old.line, new.line) != new.line:
            return None
    in_order = [lines[line] for line in sorted(lines)]
    return lines if all(a < b for a, b in itertools.pairwise(in_order)) else None


def _lines_of(outcome: LaunchOutcome) -> set[int]:
    lines = {outcome.line, *(line for _kind, line, _count in outcome.remarks)}
    lines.update(row.line for row in (*(outcome.counters.by_line if outcome.counters else ()), *outcome.work))
    return lines.union(*((hazard.line, hazard.other_line) for hazard in outcome.hazards))


def _on_lines(outcome: LaunchOutcome, lines: dict[int, int]) -> LaunchOutcome:
    """Return the outcome with other lines, in records of its own."""
    counters = outcome.counters
    if counters is not None:
        by_line = [replace(counter, line=lines[counter.line]) for counter in counters.by_line]
        counters = Counters(by_line, counters.sampled_blocks, counters.total_blocks)
    return replace(
        outcome,
        counters=counters,
        hazards=tuple(
            replace(hazard, line=lines[hazard.line], other_line=lines[hazard.other_line]) for hazard in outcome.hazards
        ),
        remarks=tuple((kind, lines[line], count) for kind, line, count in outcome.remarks),
        line=lines[outcome.line],
        work=tuple(replace(row, line=lines[row.line]) for row in outcome.work),
    )


def _bytes_of(outcome: LaunchOutcome) -> int:
    arrays = [*outcome.outputs.values()]
    if outcome.earlier is not None:
        arrays += [array for outputs in outcome.earlier.outputs for array in outputs.values()]
    records: Sequence[object] = [*(outcome.counters.by_line if outcome.counters else ()), *outcome.hazards]
    records = [*records, *outcome.work]
    return sum(array.nbytes for array in arrays) + RECORD_BYTES * (4 + len(records)) + len(outcome.printf)
