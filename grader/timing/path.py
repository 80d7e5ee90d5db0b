"""How long one warp takes with nobody in its way: its blocks of code scheduled one after another, by their data flow,
as the assembler leaves them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from grader.timing.instructions import Processor, Schedule
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


def path_of(
    base: BlockTrace,
    warp: int,
    processor: Processor,
    waits: dict[int, float],
    far: float,
    extra: Mapping[int, float],
    by_line: dict[int, float],
) -> float:
    """Cycles from a warp's first instruction to its last result, nobody in its way; adds to `by_line` those by which a
    line's results come later than all before.

    extra: cycles that bank conflicts add to each instruction of shared memory.
    """
    late = processor.latency
    ready: dict[int, float] = {}
    clock = last = float(late["start"])
    before: Schedule | None = None
    going = 0
    waited = 0.0
    passed: set[int] = set()
    for event in base.events:
        if isinstance(event, Request) or warp not in event.warps:
            continue
        steps = event.schedule.steps
        # Of a loop that the assembler unrolls further iterations are begun before the first is done.  A branch round a
        # few instructions becomes conditions on them, and what follows is moved before what waits.
        goes_on = before is event.schedule and going < before.unrolled
        going = going + 1 if goes_on else 1
        is_short = before is not None and min(before.issued, event.schedule.issued) <= SHORT
        if not goes_on and (not is_short or id(event.schedule) in passed):
            clock, waited = max(clock, waited), 0.0
            passed.clear()
        before = event.schedule
        passed.add(id(before))
        done = [0.0] * len(steps)
        begun = [0.0] * len(steps)
        issue = clock
        latest = clock
        for number, step in enumerate(steps):
            begin = issue
            for earlier in step.inside:
                begin = max(begin, done[earlier])
            for register in step.reads:
                begin = max(begin, ready.get(register, 0.0))
            if step.after >= 0:
                # A store waits for its value, and no load that may be of the same address goes before it.
                begin = max(begin, begun[step.after])
            begun[number] = begin
            wait = late[step.cost.latency] * step.cost.times
            if step.cost.latency == "barrier":
                wait += base.warps / processor.rates["barrier"]
            if step.memory == "load" or (step.memory == "atomic" and step.writes):
                key = id(step.instruction)
                near = extra[key] + late["shared"] if key in extra else late["l1"]
                is_far = key not in extra and not {"const", "local"} & set(step.instruction.modifiers)
                wait = waits.get(key, far) if is_far else near
            done[number] = begin + max(wait, step.cost.issued)
            # Moved by the assembler where nothing forbids it: only a step's own slots keep the next from being issued.
            issue += step.cost.issued
            latest = max(latest, done[number] if step.cost.latency == "barrier" else begin + step.cost.issued)
            if done[number] > last:
                line = step.instruction.location.line
                by_line[line] = by_line.get(line, 0.0) + done[number] - last
                last = done[number]
        waited = max(waited, latest)
        clock = issue
        if event.schedule.barriers:
            clock, waited = max(issue, waited), 0.0
            passed.clear()
        for number, step in enumerate(steps):
            for register in step.writes:
                ready[register] = done[number]
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
