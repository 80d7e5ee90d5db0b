"""One check's verdict, and what a list of them comes to: points, status, exit code."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from grader.message import Message
from grader.result.decisions import Override
from grader.result.diagnosis import Diagnosis
from grader.result.record import Record

CheckStatus = Literal["pass", "fail", "borderline", "skip", "error"]
SkipReason = Literal["", "not_measured", "prerequisite", "not_applicable"]

ResultStatus = Literal["passed", "failed", "error"]

EXIT_CODES: dict[ResultStatus, int] = {"passed": 0, "failed": 1, "error": 3}


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
    """`error` when any check could not be judged (the mark is not final), else `failed` when any failed."""
    statuses = {c.status for c in checks}
    if "error" in statuses:
        return "error"
    return "failed" if "fail" in statuses else "passed"
