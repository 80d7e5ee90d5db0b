"""How long one warp takes with nobody in its way: its blocks of code scheduled one after another, by their data flow,
as the assembler leaves them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from grader.timing.instructions import Processor, Schedule, Step
from grader.timing.trace import BlockTrace, Executed, Request


def busiest(base: BlockTrace) -> int:
    """The number of the warp of a block that has most to do."""
    turns = np.zeros(base.warps)
    for event in base.events:
        if isinstance(event, Executed):
            turns[event.warps] += event.schedule.issued + 1
    return int(turns.argmax())


SHORT = 8.0
"""Machine instructions of a block that the assembler makes conditional."""


class _Planned(NamedTuple):
    """A step of a block, with what is the same of all its turns.

    wait: cycles from its begin to its result.  slots: machine instructions.
    """

    inside: tuple[int, ...]
    reads: tuple[int, ...]
    after: int
    wait: float
    slots: float
    is_barrier: bool
    line: int


def _planned(
    step: Step,
    late: Mapping[str, float],
    barrier_cycles: float,
    waits: Mapping[int, float],
    far: float,
    extra: Mapping[int, float],
) -> _Planned:
    is_barrier = step.cost.latency == "barrier"
    wait = late[step.cost.latency] * step.cost.times + (barrier_cycles if is_barrier else 0.0)
    if step.memory == "load" or (step.memory == "atomic" and step.writes):
        key = id(step.instruction)
        near = extra[key] + late["shared"] if key in extra else late["l1"]
        is_far = key not in extra and not {"const", "local"} & set(step.instruction.modifiers)
        wait = waits.get(key, far) if is_far else near
    slots = step.cost.issued
    line = step.instruction.location.line
    return _Planned(step.inside, step.reads, step.after, max(wait, slots), slots, is_barrier, line)


def path_of(
    base: BlockTrace,
    warp: int,
    processor: Processor,
    waits: Mapping[int, float],
    far: float,
    extra: Mapping[int, float],
    by_line: dict[int, float],
) -> float:
    """Cycles from a warp's first instruction to its last result, nobody in its way; adds to `by_line` those by which a
    line's results come later than all before.

    extra: cycles that bank conflicts add to each instruction of shared memory.
    """
    late = processor.latency
    barrier_cycles = base.warps / processor.rates["barrier"]
    plans: dict[int, list[_Planned]] = {}
    ready: dict[int, float] = {}
    clock = last = float(late["start"])
    before: Schedule | None = None
    going = 0
    waited = 0.0
    passed: set[int] = set()
    for event in base.events:
        if isinstance(event, Request) or warp not in event.warps:
            continue
        schedule = event.schedule
        # Of a loop that the assembler unrolls further iterations are begun before the first is done.  A branch round a
        # few instructions becomes conditions on them, and what follows is moved before what waits.
        goes_on = before is schedule and going < schedule.unrolled
        going = going + 1 if goes_on else 1
        is_short = before is not None and min(before.issued, schedule.issued) <= SHORT
        if not goes_on and (not is_short or id(schedule) in passed):
            clock, waited = max(clock, waited), 0.0
            passed.clear()
        before = schedule
        passed.add(id(schedule))
        plan = plans.get(id(schedule))
        if plan is None:
            plan = plans[id(schedule)] = [_planned(s, late, barrier_cycles, waits, far, extra) for s in schedule.steps]
        done: list[float] = []
        begun: list[float] = []
        issue = latest = clock
        for inside, reads, after, wait, slots, is_barrier, line in plan:
            begin = issue
            for earlier in inside:
                if done[earlier] > begin:
                    begin = done[earlier]
            for register in reads:
                if register in ready and ready[register] > begin:
                    begin = ready[register]
            # A store waits for its value, and no load that may be of the same address goes before it.
            if after >= 0 and begun[after] > begin:
                begin = begun[after]
            begun.append(begin)
            ended = begin + wait
            done.append(ended)
            # Moved by the assembler where nothing forbids it: only a step's own slots keep the next from being issued.
            issue += slots
            latest = max(latest, ended if is_barrier else begin + slots)
            if ended > last:
                by_line[line] = by_line.get(line, 0.0) + ended - last
                last = ended
        waited = max(waited, latest)
        clock = issue
        if schedule.barriers:
            clock, waited = max(issue, waited), 0.0
            passed.clear()
        for step, ended in zip(schedule.steps, done, strict=True):
            for register in step.writes:
                ready[register] = ended
    return max(clock, waited, last)


def shared_waits(base: BlockTrace) -> dict[int, float]:
    """The cycles that bank conflicts add to the latency of each instruction of shared memory, by its id."""
    totals: dict[int, list[float]] = {}
    for event in base.events:
        if isinstance(event, Request) and event.space == "shared" and len(event.pattern.cost):
            entry = totals.setdefault(id(event.instruction), [0.0, 0.0])
            entry[0] += float(event.pattern.cost.mean()) - 1
            entry[1] += 1
    return {key: added / count for key, (added, count) in totals.items()}
