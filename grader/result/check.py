"""One check's verdict, and what a list of them comes to: points, status, exit code; what a teacher decided of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from grader.message import Message
from grader.result.measured import Diagnosis, Record


class Override(Record, frozen=True):
    """Points that a teacher gives, in place of the grader's.

    was, was_pending, was_possible: what stood there.  outdated: what it replaces is no more what it was when that was
    decided.
    """

    points: float
    was: float
    was_pending: float
    was_possible: float
    reason: str
    outdated: bool = False


class Lateness(Record, frozen=True):
    """Work that was handed in after its deadline.

    handed_in, deadline: ISO 8601; the student's extra time is part of the deadline.  days: begun days between them.
    penalty_pct: what is taken off the points, in per cent of them; lost: in points.
    """

    handed_in: str
    deadline: str
    days: int
    penalty_pct: float
    lost: float


class Decisions(Record, frozen=True):
    """What holds for the whole mark.

    late: null for work in time.  total: null where the sum of the checks stands.  note: "" where there is none.
    asks_time: there is a deadline, and nobody says when the work was handed in: no penalty is counted.
    """

    late: Lateness | None = None
    total: Override | None = None
    note: str = ""
    asks_time: bool = False


CheckStatus = Literal["pass", "fail", "borderline", "skip", "error"]
SkipReason = Literal["", "not_measured", "prerequisite", "not_applicable"]

ResultStatus = Literal["passed", "failed", "not_judged", "error"]

EXIT_CODES: dict[ResultStatus, int] = {"passed": 0, "failed": 1, "not_judged": 4, "error": 3}

_BY_WEIGHT = (0, 1, 4, 2, 3)
"""Exit codes, what weighs more later: 2 is for what the user gave, docs/result.md lists them."""

OF_TIME = frozenset({"speedup"})
"""Checks that no machine without a GPU can judge, which says nothing about the work."""


class Repair(Record, frozen=True):
    """The smallest change that was found with which the kernel passes every check: compiled, run and graded.

    file, line: where the fault is.  kind: what is wrong there; docs/result.md lists the kinds.
    diff: lines of a unified diff without its head; [] where the lab file keeps it from who reads this.
    effect: what the change does to the accesses of a line, "" where that is not what the check is about.
    effect_said: the same as id and data.
    """

    file: str
    line: int
    kind: str
    diff: list[str] = []
    effect: str = ""
    effect_said: Message | None = None


class Check(Record, frozen=True):
    """One check's verdict.

    message: what was found.  hint: why it matters and how to fix it, "" when there is nothing to fix.
    message_said, hint_said: the same as ids and data, null in results of version 1.
    line: where, in `file`; null when it concerns no line.
    file: that the line is in, where that is another than the variant's: a launch's; else "".
    skip_reason: why a check was skipped ("" unless status is "skip").
    data: the numbers the message is made of, by name.
    diagnosis: why the output is wrong, null unless that is what the check found.
    repair: the smallest change that makes the kernel right, null where none was looked for or found.
    override: what a teacher decided in place of the grader, whose points `earned` and `pending` then are not.
    """

    id: str
    variant: str
    check: str
    status: CheckStatus
    earned: float
    possible: float
    pending: float = 0.0
    message: str = ""
    hint: str = ""
    message_said: Message | None = None
    hint_said: Message | None = None
    line: int | None = None
    skip_reason: SkipReason = ""
    data: dict[str, Any] = {}
    diagnosis: Diagnosis | None = None
    repair: Repair | None = None
    override: Override | None = None
    file: str = ""


class Score(Record, frozen=True):
    """Points.  earned + pending ≤ possible; what is neither earned nor pending is lost."""

    earned: float
    possible: float
    pending: float


def score_of(checks: Iterable[Check]) -> Score:
    """Sums of the checks' points, rounded to hundredths of a point."""
    rows = list(checks)
    return Score(
        earned=round(sum(c.earned for c in rows), 2),
        possible=round(sum(c.possible for c in rows), 2),
        pending=round(sum(c.pending for c in rows), 2),
    )


def status_of(checks: Iterable[Check]) -> ResultStatus:
    """`error` when the grader failed on any check (the mark is not final), `not_judged` when too little was judged for
    a verdict, else `failed` when any check failed."""
    rows = list(checks)
    statuses = {c.status for c in rows}
    if "error" in statuses:
        return "error"
    judged, asked = judged_points(rows)
    if 2 * judged < asked:
        return "not_judged"
    return "failed" if "fail" in statuses else "passed"


def judged_points(checks: Iterable[Check]) -> tuple[float, float]:
    """Points of the checks that were judged, and of all that can be judged without measuring time.

    What waits for a failed check is judged with it; what a teacher gave points for is judged too.
    """
    asked = [c for c in checks if c.check not in OF_TIME]
    return (
        sum(c.possible for c in asked if not is_unjudged(c)),
        sum(c.possible for c in asked),
    )


def is_unjudged(check: Check) -> bool:
    """Whether nobody has judged a check that could have been judged without measuring time."""
    is_left = check.status == "error" or check.skip_reason == "not_measured"
    return is_left and check.check not in OF_TIME and check.override is None


def weightier(codes: Iterable[int]) -> int:
    """The exit code of several: that of the gravest outcome, 0 for none."""
    return max(codes, default=0, key=_BY_WEIGHT.index)
