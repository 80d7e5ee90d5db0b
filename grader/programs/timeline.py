"""What streams do as a picture: a row a stream, steps from left to right, by a GPU's clock or by their order alone."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from grader.programs.records import DeviceCall

CELLS = 64
"""Of a row at most."""
MOST_CELLS_OF_STEP = 4
"""Where only the order is known."""
DEFAULT_STREAM = 1


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a stream, from `begin` to `end`: microseconds, or places in the order."""

    call: DeviceCall
    begin: float
    end: float


@dataclass(frozen=True, slots=True)
class Timeline:
    """Steps in the order in which they were asked for; is_timed: begin and end are times of a GPU.

    Of an order: each step is as far to the left as what it comes after lets it, so that those above one another may
    run at the same time.
    """

    steps: tuple[Step, ...]
    is_timed: bool

    @property
    def streams(self) -> list[int]:
        """Numbers of streams, the default one first."""
        return sorted({step.call.stream for step in self.steps})

    @property
    def length(self) -> float:
        """From the first step to the last."""
        return max(step.end for step in self.steps) - min(step.begin for step in self.steps)

    def took(self, *kinds: str) -> float:
        """How long steps of some kinds were under way, those at the same time counted once."""
        return covered((step.begin, step.end) for step in self.steps if step.call.kind in kinds)

    def rows(self) -> dict[int, list[str]]:
        """By stream the kinds of its steps, cell by cell, "" where it does nothing.

        Of an order it is the first `CELLS` places at most: steps in one column may run at the same time.
        """
        origin, length = min(step.begin for step in self.steps), self.length
        scale = CELLS / length if length else 0.0
        if not self.is_timed:
            scale = min(max(1, int(scale)), MOST_CELLS_OF_STEP)
        cells = CELLS if self.is_timed else min(CELLS, int(length * scale))
        rows = {number: [""] * cells for number in self.streams}
        # A short step is seen beside a long one.
        for step in sorted(self.steps, key=lambda step: step.begin - step.end):
            first = int((step.begin - origin) * scale)
            first = min(first, cells - 1) if self.is_timed else first
            count = max(1, round((step.end - step.begin) * scale))
            # One after another can be told apart where there is room.
            count -= not self.is_timed and scale >= 3
            for cell in range(first, min(first + count, cells)):
                rows[step.call.stream][cell] = step.call.kind
        return rows


def timeline(asked: Sequence[DeviceCall]) -> Timeline | None:
    """What streams were asked to do; of a GPU what was timed.  None where there is none."""
    calls = [call for call in asked if call.ticket]
    timed = [
        Step(call, call.began_us, call.ended_us)
        for call in calls
        if call.began_us is not None and call.ended_us is not None
    ]
    steps = timed or _ordered(calls)
    return Timeline(tuple(steps), is_timed=bool(timed)) if steps else None


def _ordered(calls: Sequence[DeviceCall]) -> list[Step]:
    tickets: dict[int, list[int]] = {}
    ends: dict[int, list[int]] = {}
    """By stream, of its steps so far."""
    steps = []
    for call in calls:
        begin = 0
        for number, ticket in call.after.items():
            # What a stream has come to counts the step itself.
            before = bisect_left(tickets.get(number, []), ticket + (number != call.stream))
            begin = max(begin, ends[number][before - 1] if before else 0)
        tickets.setdefault(call.stream, []).append(call.ticket)
        ends.setdefault(call.stream, []).append(begin + 1)
        steps.append(Step(call, begin, begin + 1))
    return steps


def covered(spans: Iterable[tuple[float, float]]) -> float:
    """How long at least one of some spans lasts, each from its begin to its end.

    >>> covered([(0.0, 2.0), (5.0, 6.0), (1.0, 3.0)])
    4.0
    """
    total, reached = 0.0, float("-inf")
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return total
