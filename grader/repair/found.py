"""A change that was graded as if it had been handed in: its lines, what it does to accesses, what it comes to."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from grader.checks import hazards, judge
from grader.launching.kernel import BoundKernel
from grader.launching.trial import Trials
from grader.measured import Counters, LineCounters
from grader.message import Message, msg
from grader.repair.function import Change, changed
from grader.result import Check
from grader.running.evidence import Evidence
from grader.running.runs import run_kernel
from grader.submission.changes import Rebind
from grader.submission.cpp.tree import ParsedFile
from grader.submission.records import VariantBinding
from grader.submission.source import SourceText

OF_OTHERS = ("speedup", "launch", "host_code")
"""Checks that no emulated run of a kernel decides: speed is measured on a GPU, and the host code stays as it is."""
OF_GPU = ("speedup", "host_code")
"""The same where host code is changed, and read anew."""
OF_COST = frozenset(
    ("coalescing", "bank_conflicts", "divergence", "occupancy", "atomics", "work", "launches", "overlap", "speedup")
)
"""Checks of what right code costs: they say nothing of whether a change mends a wrong result."""


@dataclass(frozen=True, slots=True)
class FoundRepair:
    """A change that was run and graded.

    mends: names of the variant's checks that failed and pass with it.  is_complete: every check passes with it.
    diff: what is changed, as lines of a unified diff without its head.
    effect: what it does to the accesses that the check is about, None where it is about none.
    together: the variants that the one change mends, this one among them; () where it was tried for this one alone.
    rest: names of checks of what the kernel costs that fail with it, where it is right with it and these are all that
      fail; they had failed before, or were not reached.
    proof: of a change of host code, which says nothing of kernels: "own_check" where the program's own check finds its
      results right with it, and did not without; "run" where a run does not show the fault any more; "call" of a
      function or a program that passes every check with it; "" of any other.
    """

    variant: str
    file: str
    change: Change
    mends: tuple[str, ...]
    is_complete: bool
    diff: tuple[str, ...]
    effect: Message | None = None
    together: tuple[str, ...] = ()
    proof: str = ""
    rest: tuple[str, ...] = ()

    @property
    def is_shown(self) -> bool:
        """Whether the change is to be made as it is: the result is right with it."""
        return self.is_complete or bool(self.rest)


def judged(
    parsed: ParsedFile,
    evidence: Evidence,
    change: Change,
    before: Sequence[Check],
    after: Sequence[Check],
    changed_evidence: Evidence,
    left_out: Sequence[str] = OF_OTHERS,
) -> FoundRepair | None:
    """The repair that a change makes: None where it mends nothing, or spoils what was right."""
    new = {c.check: c for c in after}
    old = [c for c in before if c.check in new and c.check not in left_out]
    spoilt = [c for c in old if c.status == "pass" and new[c.check].status != "pass"]
    mended = tuple(c.check for c in old if c.status == "fail" and _is_passed(new[c.check], changed_evidence))
    if spoilt or not mended:
        return None
    left = tuple(c.check for c in old if new[c.check].status in ("fail", "error") or _is_waiting(new[c.check]))
    of_cost = OF_COST.isdisjoint(mended) and OF_COST.issuperset(left)
    rest = tuple(name for name in left if of_cost and not _is_waiting(new[name]))
    text = parsed.source.text
    diff = tuple(diff_lines(text, changed(text, change)))
    effect = effect_msg(mended, evidence.counters, changed_evidence.counters, diff)
    return FoundRepair(evidence.variant.name, parsed.file, change, mended, not left, diff, effect, rest=rest)


def _is_passed(check: Check, evidence: Evidence) -> bool:
    """Whether a check passes, or would if what comes before it did: a race may be gone from a wrong kernel."""
    if check.check != "races" or not _is_waiting(check) or "hazards" in evidence.unmeasured:
        return check.status == "pass"
    return not hazards.counted(evidence.hazards(*hazards.KINDS))


def _is_waiting(check: Check) -> bool:
    return check.status == "skip" and check.skip_reason == "prerequisite"


CONTEXT = 1


def diff_lines(before: str, after: str) -> Iterator[str]:
    """A unified diff without its head: "@@ …", then lines that begin with " ", "-" or "+"."""
    rows = difflib.unified_diff(before.split("\n"), after.split("\n"), lineterm="", n=CONTEXT)
    for number, row in enumerate(rows):
        if number >= 2:
            yield row


_ARRAY = re.compile(r"\w+(?:\[[^\[\]]+\])+")


def effect_msg(
    mends: Sequence[str], before: Counters | None, after: Counters | None, diff: Sequence[str]
) -> Message | None:
    """What becomes of the worst line of a check on accesses, or of all "instructions"; None of other checks, or where
    nothing was counted.

    diff: the change, whose array is named where it changes an array's size.
    """
    if before is None or after is None:
        return None
    if "bank_conflicts" in mends:
        rows = [c for c in before.by_line if c.space == "shared"]
        return _effect("wavefronts", max(rows, key=_excess, default=None), after, _array(diff))
    if "instructions" in mends and before.thread_instructions and after.thread_instructions is not None:
        fewer_pct = round(100 * (1 - after.thread_instructions / before.thread_instructions))
        return msg("repairs.instructions", fewer_pct=fewer_pct) if fewer_pct > 0 else None
    if "coalescing" in mends:
        rows = [c for c in before.by_line if c.space == "global" and c.ideal and c.op in ("load", "store")]
        return _effect("sectors", max(rows, key=lambda c: c.sectors / c.ideal, default=None), after)
    return None


def _effect(unit: str, worst: LineCounters | None, after: Counters, array: str = "") -> Message | None:
    if worst is None:
        return None
    wanted = (worst.line, worst.space, worst.op)
    now = next((c for c in after.by_line if (c.line, c.space, c.op) == wanted), None)
    count = _wavefronts if worst.space == "shared" else _sectors
    # Where the line is as it was, the change does its work elsewhere.
    if now is None or count(now) >= count(worst):
        return None
    named = {"change": array} if array else {}
    return msg(f"repairs.{unit}", line=worst.line, before=count(worst), after=count(now), **named)


def _array(diff: Sequence[str]) -> str:
    """The shared array that a change declares otherwise, "tile[32][33]"; "" where it changes something else."""
    added = [row for row in diff if row.startswith("+") and "__shared__" in row]
    before = {name for row in diff if row.startswith("-") for name in _ARRAY.findall(row)}
    names = [name for row in added for name in _ARRAY.findall(row) if name not in before]
    return str(names[0]) if len(names) == 1 else ""


def _excess(row: LineCounters) -> float:
    return (row.wavefronts - row.ideal) / row.requests if row.requests else 0.0


def _wavefronts(row: LineCounters) -> float:
    return round(row.wavefronts / row.requests, 2) if row.requests else 0.0


def _sectors(row: LineCounters) -> float:
    return round(row.sectors / row.requests, 2) if row.requests else 0.0


@dataclass(frozen=True, slots=True)
class Proof:
    """Grades changed copies of the program that holds `kernel`, as `evidence` came to be.

    rebind: reads a program with other texts.  source: the file that holds the kernel.
    """

    trials: Trials
    drawn_trials: Trials
    rebind: Rebind
    source: SourceText
    kernel: BoundKernel
    evidence: Evidence

    def graded(self, change: Change) -> tuple[list[Check], Evidence] | None:
        """The verdicts on the changed kernel, and what they rest on.

        None where it is not found any more, or takes something else.
        """
        text = changed(self.source.text, change)
        submission = self.rebind({self.source.path: replace(self.source, text=text)})
        before = self.kernel.binding
        after = submission.bindings.get(before.variant)
        if not isinstance(after, VariantBinding) or after.kernel.name != before.kernel.name:
            return None
        if [p.name for p in after.kernel.parameters] != [p.name for p in before.kernel.parameters]:
            return None
        binding = replace(after, interpretations=(self.kernel.interpretation,), expression=before.expression)
        kernel = BoundKernel(self.kernel.lab, submission, binding, self.kernel.interpretation)
        return self.of_kernel(self.trials, self.drawn_trials, kernel, self.evidence)

    @staticmethod
    def of_kernel(
        trials: Trials, drawn_trials: Trials, kernel: BoundKernel, before: Evidence
    ) -> tuple[list[Check], Evidence]:
        """The verdicts on a kernel of a changed program, and what they rest on; before: its evidence as handed in."""
        fresh = Evidence(
            before.lab,
            before.variant,
            kernel.binding,
            interpretation=kernel.interpretation,
            source=kernel.submission.device_source,
        )
        evidence = run_kernel(trials, drawn_trials, fresh, kernel, explained=False)
        return judge(evidence), evidence
