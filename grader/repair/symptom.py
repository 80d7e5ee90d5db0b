"""What a kernel's fault shows in at a small size, so that a changed kernel can be asked whether it is gone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from grader.checks import checks_with, hazards
from grader.lab.checks import RacesSettings
from grader.launching.trial import Run
from grader.ptx.records import Counters, Hazard
from grader.result import CaseKind, Check
from grader.running.evidence import Evidence
from grader.submission.records import Interpretation

LEAST_INSTRUCTIONS = 1_500_000
"""A faulty kernel may do next to nothing: what makes it right does all of its work."""
MOST_INSTRUCTIONS = 8_000_000
IDLE_INSTRUCTIONS = 64_000_000
"""The same of a kernel that takes more than that as it is: of a grid of fixed size most threads have nothing to do."""
SLOWER = 4
"""How much more than the kernel as it is a changed one may take at the same size."""

SEARCHED = (*checks_with("result"), "coalescing", "bank_conflicts")
"""Checks whose failing a change of one place may mend, in the order in which they are looked at."""
STOPPED = ("instructions", "time", "endless")
"""Ends of a launch that do not come of a thread which is missing."""
MAX_ORDERS = 3
"""Further sizes at which the order of accesses is looked at."""
OF_GRIDS = "checks.grids."
"""How the ids of messages on what a grid leaves out begin."""
OF_ONE_SIZE = "checks.grids.hint_fixed"
"""The hint where a grid does not follow from the sizes."""


@dataclass(frozen=True, slots=True)
class SmallCase:
    """One size at which changed kernels run.

    instructions: of all threads, at which a run is ended.
    observe: whether races and counters are looked at as well.
    excess: wavefronts of shared memory more than needed, or sectors of global memory, that are too many; -1: any.
    metric: "wavefronts" or "sectors".
    of_order: whether the order of accesses alone is looked at, whatever comes of them.
    all_reach: whether no thread may have ended before a barrier.
    """

    kind: CaseKind
    sizes: dict[str, int]
    instructions: int
    observe: bool = False
    excess: int = -1
    metric: str = "wavefronts"
    of_order: bool = False
    all_reach: bool = False

    def is_clean(self, run: Run, observed: bool) -> bool:
        """Whether nothing of the fault is left in a run."""
        if self.of_order:
            return run.outcome.status == "ok" and not hazards.counted(run.outcome.hazards)
        if run.outcome.status != "ok" or not run.is_right or faults(run) or (self.all_reach and _have_ended(run)):
            return False
        if observed and self.excess >= 0 and run.outcome.counters is not None:
            return excess_of(run.outcome.counters, self.metric) < self.excess
        return True


@dataclass(frozen=True, slots=True)
class Symptom:
    """What shows a fault.

    check: the first that failed because of it.  cases: the first shows it; the others are for what mends that alone.
    hazards: of the run that shows it.  lines: that the check spoke of.
    is_observed: only an observed run shows it.
    is_stopped: the kernel was ended in what it did without end; nothing tells which threads its result needs.
    """

    check: str
    cases: tuple[SmallCase, ...]
    hazards: tuple[Hazard, ...]
    lines: tuple[int, ...]
    is_observed: bool
    is_stopped: bool = False


def faults(run: Run) -> list[Hazard]:
    """Hazards of a run that cost points.

    At sizes that are no multiple of the tile, threads outside the data may read, and drop, what nobody wrote.
    """
    kinds = ("out_of_bounds",) if run.kind == "ragged" else ("out_of_bounds", "uninitialized")
    memory = [h for h in run.outcome.hazards if h.kind in kinds]
    return memory + hazards.counted(run.outcome.hazards)


def _have_ended(run: Run) -> bool:
    """Whether threads had ended before a barrier; a device goes on, a task may forbid it."""
    return any(kind == "exited_before_barrier" for kind, _line, _count in run.outcome.remarks)


def is_collision(hazards: Sequence[Hazard]) -> bool:
    """Whether all races of a run are writes of two threads to one element: indices go wrong, rather than the order."""
    hazards = [h for h in hazards if h.kind == "race"]
    return bool(hazards) and all(h.detail.startswith("write_write") for h in hazards)


def _is_one_place(hazard: Hazard) -> bool:
    return hazard.kind == "race" and hazard.detail.startswith("write_write") and hazard.line == hazard.other_line


def excess_of(counters: Counters, metric: str) -> int:
    """What is more than needed: wavefronts of shared memory, or sectors of global memory."""
    space = "shared" if metric == "wavefronts" else "global"
    return counters.total(metric, space) - counters.total("ideal", space)


def _is_of_grid(check: Check) -> bool:
    said, hint = check.message_said, check.hint_said
    return said is not None and said.id.startswith(OF_GRIDS) and (hint is None or hint.id != OF_ONE_SIZE)


def symptom_of(evidence: Evidence, checks: Sequence[Check]) -> Symptom | None:
    """The symptom of the first failed check, or of another one that a smaller run shows where that takes too long.

    None where no change of one place is looked for: where the kernel does not compile or is not there, and where only a
    drawn case tells that it is wrong.
    """
    failed = [c for c in checks if c.status == "fail"]
    if any(c.check in ("present", "compiles") for c in failed):
        return None
    # What no block of the launch covers, no change of the kernel mends; but where the launch has the same number of
    # blocks at every size, the kernel may ask for an axis that it should not.
    uncovered = {c.check for c in failed if _is_of_grid(c)}
    mendable = [c for name in SEARCHED for c in failed if c.check == name and name not in uncovered]
    searched = [(c, _showing(evidence, c)) for c in mendable]
    if not searched or evidence.interpretation is None:
        return None
    check, shown = next((candidate for candidate in searched if _is_short(candidate[1])), searched[0])
    # What was not even launched shows nothing.
    if shown is None or shown.outcome.reason in ("too_large", "no_blocks", "memory"):
        return None
    sizes, run = dict(shown.sizes), shown
    diagnosis = check.diagnosis
    if diagnosis is not None and not _skips_diagnosis(check, run):
        sizes = dict(diagnosis.size)
    kind: CaseKind = "ragged" if run.kind == "ragged" or check.check == "ragged_sizes" else "correct"
    metric = "sectors" if check.check == "coalescing" else "wavefronts"
    excess = -1
    if check.check in ("coalescing", "bank_conflicts") and run.outcome.counters is not None:
        excess = excess_of(run.outcome.counters, metric)
    all_reach = check.check == "races" and _all_reach(evidence)
    cases = [SmallCase(kind, sizes, instructions_of(run), observe=True, excess=excess, metric=metric)]
    # Only what is right at the first size comes to be run at others.
    further = _others(evidence, evidence.interpretation, sizes)
    if "ragged_sizes" in uncovered:
        further = [r for r in further if r.kind != "ragged"]
    most = max(MOST_INSTRUCTIONS, cases[0].instructions)
    cases += [SmallCase(r.kind, dict(r.sizes), most) for r in further]
    cases = [replace(case, all_reach=all_reach) for case in cases]
    lines = tuple(dict.fromkeys(n for n in (check.line, *check.data.get("lines", [])) if isinstance(n, int)))
    return Symptom(check.check, tuple(cases), tuple(faults(run)), lines, run.is_right, run.outcome.reason in STOPPED)


def symptom_of_order(evidence: Evidence, checks: Sequence[Check]) -> Symptom | None:
    """A failed `races` by itself, of a kernel whose result is wrong for another reason; None where there is none."""
    check = next((c for c in checks if c.check == "races" and c.status == "fail"), None)
    runs = [r for r in evidence.runs if not r.drawn and r.backend == "emulator" and r.kind != "ragged"]
    racing = [
        r
        for r in runs
        if r.outcome.status == "ok" and any(h.kind == "race" for h in r.outcome.hazards) and _is_short(r)
    ]
    shown = min(racing, key=lambda r: prod(r.sizes.values()), default=None)
    if check is None or shown is None:
        return None
    races = tuple(hazards.counted(shown.outcome.hazards))
    # What orders a launch of one block, or one that is full, need not order the others.
    further = {repr(r.sizes): r for r in evidence.runs if not r.drawn and r.outcome.status == "ok" and _is_short(r)}
    further.pop(repr(shown.sizes), None)
    largest = sorted(further.values(), key=lambda r: prod(r.sizes.values()))[-MAX_ORDERS:]
    cases = [
        SmallCase(r.kind, dict(r.sizes), instructions_of(r), observe=True, of_order=True)
        for r in (shown, *largest)
        if r.kind in ("correct", "observe", "ragged")
    ]
    # Two threads that write one element need another index: ordered, one of them would still be lost, whatever is read.
    # What leaves its array meets others' elements, which no order would make its own.
    outside = {h.line for h in shown.outcome.hazards if h.kind == "out_of_bounds"}
    is_astray = any(outside & {h.line, h.other_line} for h in races)
    if not races or not cases or is_astray or any(_is_one_place(h) for h in races) or is_collision(races):
        return None
    return Symptom("races", tuple(cases), races, tuple(h.line for h in races), is_observed=True)


def _is_short(run: Run | None) -> bool:
    """Whether a kernel that does the same work ends within the limit of a changed one."""
    return run is not None and (run.outcome.thread_instructions or 0) <= MOST_INSTRUCTIONS


def _showing(evidence: Evidence, check: Check) -> Run | None:
    runs = [r for r in evidence.runs if not r.drawn and r.backend == "emulator" and r.outcome.reason != "repeat_wrong"]
    exact = [r for r in runs if r.kind != "ragged"]
    match check.check:
        case "correct":
            candidates = [r for r in exact if r.outcome.status != "ok" or not r.is_right]
            # Right, but by the order of its threads alone.
            candidates = candidates or [r for r in exact if hazards.counted(r.outcome.hazards)]
        case "ragged_sizes":
            candidates = [
                r for r in runs if r.kind == "ragged" and (r.outcome.status != "ok" or not r.is_right or faults(r))
            ]
        case "bank_conflicts" | "coalescing":
            metric = "sectors" if check.check == "coalescing" else "wavefronts"
            candidates = [r for r in exact if r.outcome.counters and excess_of(r.outcome.counters, metric) > 0]
        case _:
            candidates = [r for r in exact if faults(r)]
            if not candidates and _all_reach(evidence):
                candidates = [r for r in runs if r.outcome.status == "ok" and _have_ended(r)]
    return min(candidates, key=lambda r: prod(r.sizes.values()), default=None)


def _all_reach(evidence: Evidence) -> bool:
    settings = evidence.variant.settings_of(RacesSettings)
    return settings is not None and settings.all_reach


def _skips_diagnosis(check: Check, run: Run) -> bool:
    """Whether the size of the diagnosis need not show what the check found."""
    return check.check == "ragged_sizes" and bool(faults(run)) and run.is_right


def _others(evidence: Evidence, interpretation: Interpretation, sizes: dict[str, int]) -> list[Run]:
    """Return a small run of each kind at other sizes at which the kernel is the same program."""
    compiled_in = [role for role, _name in interpretation.constants] + [
        role for _text, role in interpretation.template if role
    ]
    chosen = []
    for kinds in (("correct", "observe"), ("ragged",)):
        runs = [r for r in evidence.runs if r.kind in kinds and not r.drawn and dict(r.sizes) != sizes]
        runs = [r for r in runs if r.outcome.status in ("ok", "fault")]
        runs = [r for r in runs if all(r.sizes[role] == sizes[role] for role in compiled_in)]
        runs.sort(key=lambda r: (len(set(r.sizes.values())) == 1, prod(r.sizes.values())))
        chosen += runs[:1]
    return chosen


def instructions_of(run: Run) -> int:
    """At which a changed kernel is ended at the size of a run of the kernel as it is."""
    used = run.outcome.thread_instructions or MOST_INSTRUCTIONS // SLOWER
    most = max(MOST_INSTRUCTIONS, min(IDLE_INSTRUCTIONS, 2 * used))
    return max(LEAST_INSTRUCTIONS, min(most, SLOWER * used))
